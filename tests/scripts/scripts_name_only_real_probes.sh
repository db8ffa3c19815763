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

generate names | sed -n 's/^konfiscator //p' | cut -d ' ' -f 1,3- >"$WORK/declared"

# used_bt SCRIPT: a line for each probe: its name, the highest argument used
used_bt() {
	awk '
		function flush()
		{
			for (i = 1; i <= n; i++)
				print name[i], highest + 0
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
		/^}/ { flush() }
		{
			while (match(line, /[^a-z]arg[0-9]/)) {
				used = 1 + substr(line, RSTART + RLENGTH - 1, 1)
				if (used > highest)
					highest = used
				line = substr(line, RSTART + RLENGTH)
			}
		}' "$1" | sort
}

# used_stp SCRIPT: the same; arguments have names here
used_stp() {
	awk '
		FNR == NR {
			for (i = 3; i <= NF; i++)
				place[$1, $i] = i - 2
			next
		}
		{ line = $0 }
		/^(probe|[ \t]) *konfiscator\./ {
			sub(/^.*konfiscator\./, "", line)
			sub(/,$/, "", line)
			name[++n] = line
			next
		}
		/^}/ {
			for (i = 1; i <= n; i++)
				print name[i], highest + 0
			n = highest = 0
		}
		n {
			gsub(/"[^"]*"|#.*/, "", line)
			nr = split(line, word, /[^a-z_]+/)
			for (i = 1; i <= nr; i++) {
				used = place[name[n], word[i]] + 0
				if (used > highest)
					highest = used
			}
		}' "$WORK/declared" "$1" | sort
}

(cd "$scripts/bpftrace" && printf '%s\n' *.bt) | sed 's/\.bt$//' >"$WORK/bt"
(cd "$scripts/stap" && printf '%s\n' *.stp) | sed 's/\.stp$//' >"$WORK/stp"
[ -s "$WORK/bt" ] || fail "no script in $scripts/bpftrace"
# bpftrace has no page that can be read while it runs; mapped is bpftrace's alone.
sed "/^prometheus\$/d" "$WORK/stp" >"$WORK/both"
sed "/^mapped\$/d" "$WORK/bt" | diff - "$WORK/both" ||
	fail "the languages have different scripts"

while read -r script; do
	if [ -e "$scripts/bpftrace/$script.bt" ]; then
		used_bt "$scripts/bpftrace/$script.bt" >"$WORK/in_bt"
	else
		used_stp "$scripts/stap/$script.stp" >"$WORK/in_bt"
	fi
	used_stp "$scripts/stap/$script.stp" >"$WORK/in_stp"
	[ -s "$WORK/in_bt" ] || fail "$script.bt names no probe"
	diff "$WORK/in_bt" "$WORK/in_stp" ||
		fail "$script: bpftrace (left) and stap (right) differ"
	while read -r probe highest; do
		nr=$(awk -v p="$probe" '$1 == p { print $2 }' "$WORK/declared")
		[ -n "$nr" ] || fail "$script: no probe is called '$probe'"
		[ "$highest" -le "$nr" ] ||
			fail "$script: $probe has $nr arguments, not $highest"
	done <"$WORK/in_bt"
done <"$WORK/stp"
