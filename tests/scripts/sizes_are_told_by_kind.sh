#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sizes.bt adds up what a program asks for to the byte, by allocation, resize
# and large block, and what rounding costs.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

for n in 0 23; do
	traced "$top_srcdir/scripts/bpftrace/sizes.bt" \
		under_traced "$top_builddir/tests/scripts/events" "$n" 5
	mv "$WORK/trace" "$WORK/trace.$n"
done

# more WHAT LINE N: between the runs, a line that begins so grew by N
more() {
	for n in 0 23; do
		awk -v line="$2: " 'index($0, line) == 1 { n = $2 }
			END { print n + 0 }' "$WORK/trace.$n" >"$WORK/n.$n"
	done
	equal "$1" "$3" $(($(cat "$WORK/n.23") - $(cat "$WORK/n.0")))
}

more "allocations" '@total[alloc]' $((5 * 23))
more "bytes allocated" '@total[alloc_bytes]' \
	$((23 * (100 + 10 * 20 + 1000 + 300000 + 50)))
more "resizes" '@total[resize]' 23
more "resizes that moved" '@total[moved]' 23
more "bytes of resizes" '@total[resize_bytes]' $((23 * 5000))
more "large blocks" '@total[large]' 23
more "bytes of large blocks" '@total[large_bytes]' $((23 * 300000))
more "lost by rounding 100 up to 112" '@lost_in_blocks_of[112]' $((23 * 12))

# rows MAP: its histogram, without the bars
rows() {
	awk -v map="$1:" '
		/^@/ { on = $1 == map; next }
		on && /^\[/ { sub(/ *\|.*/, ""); print }' "$WORK/trace.23"
}

equal "histogram of resizes" "[4K, 8K)              23" "$(rows @resize_bytes)"
rows @alloc_bytes | grep -q '^\[256K, 512K) *23$' ||
	fail "no 23 allocations of 300000: $(rows @alloc_bytes)"
rows @large_bytes | grep -q '^\[256K, 512K) *23$' ||
	fail "no 23 large blocks of 300000: $(rows @large_bytes)"
