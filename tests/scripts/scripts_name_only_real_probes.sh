#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Both languages have scripts of the same names, on the same probes, and every
# probe and argument that a script names is declared.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
workdir
scripts=$top_srcdir/scripts

generate names | awk '{ print $2, $4 }' >"$WORK/declared"

# used SCRIPT: a line for each probe: its name, the highest argument used
used() {
	awk '
		function flush()
		{
			for (i = 1; i <= n; i++)
				print name[i], highest
			n = 0
			highest = 0
		}
		{ line = $0 }
		/^usdt:\$1:konfiscator:/ {
			sub(/^.*:/, "", line)
			sub(/,$/, "", line)
			name[++n] = line
			next
		}
		/\.mark\("/ {
			sub(/^.*mark\("/, "", line)
			sub(/"\).*/, "", line)
			name[++n] = line
			next
		}
		/^}/ { flush() }
		{
			while (match(line, /(\$arg[0-9])|([^a-z]arg[0-9])/)) {
				word = substr(line, RSTART, RLENGTH)
				used = substr(word, RLENGTH)
				if (word !~ /\$/)
					used++
				if (used > highest)
					highest = used
				line = substr(line, RSTART + RLENGTH)
			}
		}' "$1" | sort
}

(cd "$scripts/bpftrace" && printf '%s\n' *.bt) | sed 's/\.bt$//' >"$WORK/bt"
(cd "$scripts/stap" && printf '%s\n' *.stp) | sed 's/\.stp$//' >"$WORK/stp"
[ -s "$WORK/bt" ] || fail "no script in $scripts/bpftrace"
diff "$WORK/bt" "$WORK/stp" || fail "the languages have different scripts"

while read -r script; do
	used "$scripts/bpftrace/$script.bt" >"$WORK/in_bt"
	used "$scripts/stap/$script.stp" >"$WORK/in_stp"
	[ -s "$WORK/in_bt" ] || fail "$script.bt names no probe"
	diff "$WORK/in_bt" "$WORK/in_stp" ||
		fail "$script: bpftrace (left) and stap (right) differ"
	while read -r probe highest; do
		nr=$(awk -v p="$probe" '$1 == p { print $2 }' "$WORK/declared")
		[ -n "$nr" ] || fail "$script: no probe is called '$probe'"
		[ "$highest" -le "$nr" ] ||
			fail "$script: $probe has $nr arguments, not $highest"
	done <"$WORK/in_bt"
done <"$WORK/bt"
