#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No source calls a function that banned.txt forbids in its directory, and the
# library, once built, imports none that is forbidden below abi.
. "$top_srcdir/tests/lint/tree.sh"

table=$top_srcdir/tests/lint/banned.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$top_srcdir" || exit 1

# "directory function file reason" for each line of the table: the file may
# call it, "-" is none.
awk '
/^#/ || NF == 0 { next }
$1 == "in" {
	nr = NF
	for (i = 2; i <= NF; i++)
		where[i] = $i
	may = "-"
	if ($(NF - 1) == "except") {
		may = $NF
		nr -= 2
	}
	next
}
{
	why = $0
	sub(/:.*/, "", why)
	sub(/^ */, "", why)
	sub(/^[^:]*:/, "")
	for (i = 2; i <= nr; i++)
		for (j = 1; j <= NF; j++)
			print where[i], $j, may, why
}' "$table" >"$work/banned"
[ -s "$work/banned" ] || complain "banned.txt bans nothing"

for f in $(tree_match '^(src|exporter|bench|tests)/.*\.[ch]$'); do
	looked_at=$((looked_at + 1))
	awk -f tests/lint/code.awk "$f" >"$work/code"
	bad=$(awk -v f="$f" '
	NR == FNR {
		if (index(f, $1 "/") == 1 && f != $3) {
			name = $2
			$1 = $2 = $3 = ""
			why[name] = substr($0, 4)
		}
		next
	}
	{
		rest = $0
		while (match(rest, /[A-Za-z_][A-Za-z_0-9]* ?\(/)) {
			name = substr(rest, RSTART, RLENGTH)
			sub(/ ?\($/, "", name)
			before = substr(rest, 1, RSTART - 1)
			rest = substr(rest, RSTART + RLENGTH)
			if (name in why && before !~ /(\.|->)$/)
				printf "%s:%d: %s() is banned here: %s\n", f,
				       FNR, name, why[name]
		}
	}' "$work/banned" "$work/code")
	[ -z "$bad" ] || complain "$bad"
done

# What the compiler or a macro put in shows only in the objects.
if [ -f "$KF_LIB" ]; then
	awk '$1 == "src/sys" && $3 == "-" { print $2 }' "$work/banned" >"$work/names"
	nm -D --undefined-only "$KF_LIB" | sed 's/.* //; s/@.*//' |
		grep -Fxf "$work/names" >"$work/imports"
	while IFS= read -r name; do
		grep -Eqr "\\b$name ?\\(" src/abi ||
			complain "$KF_LIB imports $name()"
	done <"$work/imports"
fi

verdict sources
