#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What other processes call themselves, their threads, tags, files and functions
# is printed through kf_escape() only: no statement that prints has such a field
# as it is, but those in ours.txt.
. "$top_srcdir/tests/lint/tree.sh"

cd "$top_srcdir" || exit 1
for f in $(tree_match '^(src/cli|exporter)/.*\.c$'); do
	looked_at=$((looked_at + 1))
	bad=$(awk -f tests/lint/code.awk "$f" | awk -v f="$f" '
	function escaped(s) {
		while (match(s, /kf_escape ?\([^()]*(\([^()]*\)[^()]*)*\)/))
			s = substr(s, 1, RSTART - 1) "0" substr(s, RSTART + RLENGTH)
		return s
	}
	function without(s, part,    at) {
		while ((at = index(s, part)))
			s = substr(s, 1, at - 1) "0" substr(s, at + length(part))
		return s
	}
	BEGIN {
		foreign = "(->|\\.)(comm|exe|reply|called|given|name|thread|" \
			"function|file|library|path|dir|text|label|line|help|" \
			"version|engine|boot_id)([^A-Za-z0-9_]|$)"
		while ((getline line <"tests/lint/ours.txt") > 0) {
			split(line, part, " ")
			if (part[1] == f)
				ours[part[2]] = 1
		}
	}
	!begun && match($0, /(^|[^A-Za-z0-9_])(v?f?printf|dprintf|f?puts|fwrite|json_string) ?\(/) {
		begun = FNR
		statement = substr($0, RSTART)
		if (!index(statement, ";"))
			next
		$0 = ""
	}
	begun {
		statement = statement " " $0
		if (!index(statement, ";"))
			next
		gsub(/[ \t]+/, " ", statement)
		statement = escaped(statement)
		for (own in ours)
			statement = without(statement, own)
		if (match(statement, foreign))
			printf "%s:%d: prints %s as it is, without kf_escape()\n",
			       f, begun, substr(statement, RSTART, RLENGTH - 1)
		begun = 0
	}')
	[ -z "$bad" ] || complain "$bad"
done

# An exception that nothing needs any more would hide the next fault.
while read -r f expression _; do
	case $f in
	'#'*) continue ;;
	esac
	grep -qF -e "$expression" "$f" ||
		complain "ours.txt: $f has no $expression"
done <tests/lint/ours.txt

verdict sources
