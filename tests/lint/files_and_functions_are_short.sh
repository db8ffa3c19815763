#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No file of code has 600 lines, no function in C has 60, none more than three
# indents.
. "$top_srcdir/tests/lint/tree.sh"

cd "$top_srcdir" || exit 1
list=$(tree_match '\.(c|h|cc|cpp|sh|py|awk|am|bt|stp)$')
for f in $list; do
	looked_at=$((looked_at + 1))
	lines=$(wc -l <"$f")
	[ "$lines" -lt 600 ] || complain "$f has $lines lines"
done

# A body lies between the braces in the first column; its first indent is one
# tab, so five tabs are a fourth indent, but in a continued line.
for f in $(echo "$list" | grep -E '\.[ch]$'); do
	bad=$(awk -v f="$f" '
	/^\{/ { start = FNR; next }
	/^\}/ && start {
		if (FNR - start + 1 > 60)
			printf "%s:%d: a function of %d lines\n", f, start,
			       FNR - start + 1
		start = 0
	}
	start && /^\t\t\t\t\t*(if|for|while|do|switch|return|goto|break|continue)[^a-z_]/ {
		printf "%s:%d: more than three indents\n", f, FNR
	}' "$f")
	[ -z "$bad" ] || complain "$bad"
done

verdict files
