# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of konfiscator_exporter(8). Flags are read from --help, the
# values of a flag from the error message for an invalid value.

# _konfiscator_exporter_flags PROGRAM: the flags, one a line, each with the name
# of its argument.
_konfiscator_exporter_flags()
{
	local line flag='^  --(\[no-\])?([a-z.-]+)(=([^ ]+))?'

	while IFS= read -r line; do
		[[ $line =~ $flag ]] || continue
		set -- "${BASH_REMATCH[@]}"
		echo "--$3 ${5:--}"
		[[ -z $2 ]] || echo "--no-$3 ${5:--}"
	done < <("$1" --help 2>/dev/null)
}

_konfiscator_exporter()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option='' flag what words
	local program=${COMP_WORDS[0]/#\~/$HOME}

	COMPREPLY=()
	# "=" is a word of its own: --flag = value
	if [[ $cur == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 1]}
		cur=
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	while read -r flag what; do
		if [[ $flag != "$option" || $what == - ]]; then
			COMPREPLY+=($(compgen -W "$flag" -- "$cur"))
			continue
		fi
		case $what in
		FILE) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		DIR) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
		LEVEL | FORMAT | NAME)
			words=$("$program" "$flag=?" 2>&1 </dev/null |
				sed -n "s/ or /, /; s/.*'?': expected //p" | tr -d ,)
			mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
			;;
		*) COMPREPLY=() ;;
		esac
		[[ $what != FILE && $what != DIR ]] ||
			compopt -o filenames 2>/dev/null
		return
	done < <(_konfiscator_exporter_flags "$program")
}

complete -F _konfiscator_exporter konfiscator_exporter
