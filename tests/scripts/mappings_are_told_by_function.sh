#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The script mapped tells which functions of a program mapped anonymous memory
# and how much of it they have not unmapped, to the byte, of several threads and
# of a signal handler too; what malloc maps, small, shared and failed mappings
# are left out.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
need_tracing
! is_sanitized || skip "a sanitizer maps memory itself"
unset BPFTRACE_NO_USER_SYMBOLS

compile -O1 -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
	-o "$WORK/maps" "$top_srcdir/tests/scripts/maps.c"

for try in 1 2 3 4 5; do
	kf_got=$(status_of cli trace mapped -- "$WORK/maps")
	grep 'bpftrace \(failed\|could not\|ended before\)' "$WORK/err" ||
		break
	echo "trace again: this was try $try"
done
equal "status of the program" 0 "$kf_got"

# A line for each caller, with the sum of its rows.
awk '
	/^@bytes_held\[/ { name = $2; sub(/,$/, "", name) }
	/^\]: / && $2 { sum[name] += $2 }
	END { for (name in sum) print name, sum[name] }' "$WORK/out" |
	grep '^[a-z]' | sort >"$WORK/told"
cat "$WORK/told"
grep '^[a-z_]* [0-9]*$' "$WORK/out" | sort >"$WORK/meant"
[ "$(wc -l <"$WORK/meant")" = 7 ] || fail "the program said no sums"
while read -r name bytes; do
	grep -qx "$name $bytes" "$WORK/told" || {
		cat "$WORK/out"
		fail "$name has mapped $bytes bytes, which is not told"
	}
done <"$WORK/meant"
for name in gone small refused shared allocate; do
	! grep "^$name " "$WORK/told" || fail "$name is told"
done
heap=$(awk '/^@total\[heap\]: / { print $2 }' "$WORK/out")
[ "${heap:-0}" -ge $((40 << 20)) ] ||
	fail "what the heap mapped is not taken out: $(cat "$WORK/out")"
