#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# leaks.bt tells to the byte what a program has lost, by the function that
# allocated it, whichever path of the allocator served it; with a limit and a
# sample it follows only what it was told to.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/leaks.sh
. "$top_srcdir/tests/scripts/leaks.sh"

# held CALLER: the bytes that are held of what this function allocated
held() {
	awk -v caller="$1" '
		/^@bytes_held\[/ { mine = $2 == caller "," }
		/\]: -?[0-9]+$/ {
			if (mine)
				sum += $NF
			mine = 0
		}
		END { print sum + 0 }' "$WORK/trace"
}

traced "$top_srcdir/scripts/bpftrace/leaks.bt" lose
equal "blocks without room" 0 "$(traced_total not_followed)"
equal "small blocks" $((101 * 100)) "$(held lose_small)"
equal "large blocks" $((23 * 300000)) "$(held lose_large)"
equal "blocks of zeroes" $((37 * 1000)) "$(held lose_zeroed)"
equal "resized blocks" $((13 * 5000)) "$(held grow)"
equal "blocks that were freed" 0 "$(held pass)"
equal "blocks of a thread that ended" $((29 * 64)) "$(held lose_in_thread)"
[ "$(traced_total blocks_freed)" -ge $((53 + 13)) ] ||
	fail "blocks freed: $(cat "$WORK/trace")"

TRACE_ARGS='0 100000' traced "$top_srcdir/scripts/bpftrace/leaks.bt" lose
equal "blocks of 100000 and more" 23 "$(traced_total blocks_allocated)"
equal "their bytes" $((23 * 300000)) "$(held lose_large)"
equal "others" 0 "$(held lose_small)"

# Of 101 blocks one of two is followed: neither none nor all, and each counts
# for two.
TRACE_ARGS='2 0' traced "$top_srcdir/scripts/bpftrace/leaks.bt" lose
sample=$(held lose_small)
equal "the sample's weight" 0 $((sample % 200))
case $sample in
0 | $((2 * 101 * 100))) fail "the sample tells $sample bytes of 10100" ;;
esac
