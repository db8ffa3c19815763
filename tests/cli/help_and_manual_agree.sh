#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every option of --help is in the manual and the other way round; so is every
# command, every variable of the environment with its default, every engine and
# every counter.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

manual=$top_builddir/doc/konfiscator.1
tables=$top_builddir/doc/konfiscator.7

# The options of a part of --help: from a heading to the next empty line. "Options"
# are those of all headings that are a command's own.
help_options() {
	"$KF_CLI" ${1:+"$1"} --help | awk -v part="$2" '
		/^(Commands|Examples|Which processes|How call stacks are shown|For a process without the library|Options of all commands):$/ {
			on = $0 == part ":"
			next
		}
		/^[A-Z][^.]*:$/ { on = part == "Options"; next }
		!NF { on = 0 }
		on && /^ +-/' |
		tr '= ' '[\n*]' | sed -n 's/,$//; /^-/p' | sort -u
}

# No line of --help is longer than 100 columns; each command has what it needs.
help_is_narrow() {
	"$KF_CLI" ${1:+"$1"} --help >"$WORK/help"
	awk 'length > 100 { print; wide = 1 } END { exit wide }' "$WORK/help" ||
		fail "konfiscator $1 --help has lines of more than 100 columns"
	"$KF_CLI" help ${1:+"$1"} >"$WORK/same"
	cmp "$WORK/help" "$WORK/same" || fail "help $1 is not $1 --help"
}

# The options of a section of the manual.
manual_options() {
	awk -v part="$1" '
		/^\.S[sh] / { on = ($2 == part || substr($0, 5) == part) }
		on && /^\.It Fl/ {
			for (i = 2; i < NF; i++)
				if ($i == "Fl")
					print "-" $(i + 1)
		}' "$manual" | sort -u
}

same() {
	[ "$2" = "$3" ] ||
		fail "$1: --help has" "$2" "and the manual has" "$3"
}

commands=$("$KF_CLI" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 6 ] || fail "--help names no commands"
sections=$(sed -n '/^\.Sh COMMANDS/,/^\.Sh ENV/s/^\.Ss //p' "$manual")
equal "commands" "$sections" "$commands"

same "all commands" "$(help_options '' 'Options of all commands')" \
	"$(manual_options 'Options of all commands')"
same "selectors" "$( (help_options stat 'Which processes';
	help_options ls 'Which processes') | sort -u)" \
	"$(manual_options 'Which processes')"
same "stacks" "$(help_options report 'How call stacks are shown')" \
	"$(manual_options 'How call stacks are shown')"
same "attach first" \
	"$(help_options explain 'For a process without the library')" \
	"$(manual_options 'For a process without the library')"
help_is_narrow ''
for command in $commands; do
	help_is_narrow "$command"
	same "$command" "$(help_options "$command" Options)" \
		"$(manual_options "$command")"
done
[ "$(help_options run Options | wc -l)" -gt 5 ] || fail "run has no options"

# The text of an item of a list in konfiscator(7).
item() {
	awk -v head="$1" '/^\.(It|El|Sh)/ { on = index($0 " ", head " ") == 1 } on' \
		"$tables"
}

# stated ID DEFAULT TEXT: the default that a text states, if any, is this one
stated() {
	told=$(echo "$3" | tr '\n' ' ' |
		sed -n 's/.*\((default\|[Tt]he default is\) \([0-9A-Za-z]*\).*/\2/p')
	case $told in
	[1-9]*K) told=$((${told%K} * 1024)) ;;
	[1-9]*M) told=$((${told%M} * 1048576)) ;;
	[1-9]*G) told=$((${told%G} * 1073741824)) ;;
	esac
	[ -z "$told" ] || equal "the default of $1 that a text states" "$2" "$told"
}

sed -n 's/^KF_CONF(\([a-z0-9_]*\), [A-Z]*, \([^,]*\),.*/\1 \2/p' \
	"$top_srcdir/src/core/conf.def" >"$WORK/options"
[ "$(wc -l <"$WORK/options")" -gt 5 ] || fail "conf.def has too few options"
equal "options read of conf.def" "$(grep -c '^KF_CONF(' \
	"$top_srcdir/src/core/conf.def")" "$(wc -l <"$WORK/options")"
"$KF_CLI" run --help >"$WORK/run"
while read -r id default; do
	name=KONFISCATOR_$(echo "$id" | tr '[:lower:]' '[:upper:]')
	item ".It Ev $name Ns" >"$WORK/item"
	[ -s "$WORK/item" ] || fail "$name is in no manual"
	awk -v option="--$(echo "$id" | tr _ -)=" '
		/^ *-/ || !NF { on = index($1, option) == 1 }
		on' "$WORK/run" >"$WORK/help"
	[ -s "$WORK/help" ] || fail "run has no --$id"
	stated "$name" "$default" "$(cat "$WORK/item")"
	stated "--$id" "$default" "$(cat "$WORK/help")"
	[ "$default" = 0 ] || grep -q '(default ' "$WORK/help" ||
		fail "run --help does not state the default of --$id"
	[ "$default" = 0 ] || grep -q 'The default is' "$WORK/item" ||
		fail "konfiscator(7) does not state the default of $name"
done <"$WORK/options"

engine_names >"$WORK/engines"
while read -r engine; do
	[ "$(item ".It Cm $engine" | wc -l)" -ge 2 ] ||
		fail "konfiscator(7) does not describe the engine $engine"
done <"$WORK/engines"

sed -n 's/^KF_STAT_[A-Z]*(\([a-z_]*\),.*/\1/p' \
	"$top_srcdir/src/stats/stats.def" >"$WORK/counters"
[ "$(wc -l <"$WORK/counters")" -gt 40 ] || fail "stats.def has too few counters"
while read -r id; do
	grep -q "^\.It $id (" "$tables" || fail "counter $id is in no manual"
done <"$WORK/counters"

for page in "$manual" "$tables"; do
	if grep -n '@[A-Z_]*@' "$page"; then
		fail "$page is not filled in"
	fi
done
