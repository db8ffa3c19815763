#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# heap.bt tells what is live by the stacks of samples: large blocks, of which
# each is one, to the byte, small ones about, and freed ones not at all; the
# stats file of the program has the same of each function, to the byte.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/leaks.sh
. "$top_srcdir/tests/scripts/leaks.sh"

# live FUNCTION: what is live of what it allocated
live() {
	awk -v name="$1" '
		/^@live\[/ { mine = 0 }
		{ at = $1; sub(/\+[0-9]+$/, "", at) }
		at == name { mine = 1 }
		/^\]: -?[0-9]+$/ {
			if (mine)
				sum += $NF
			mine = 0
		}
		END { print sum + 0 }' "$WORK/trace"
}

LEAKS_ENV="KONFISCATOR_SAMPLE=1K KONFISCATOR_SAMPLE_SEED=1"
traced "$top_srcdir/scripts/bpftrace/heap.bt" lose
equal "samples without room" 0 "$(traced_total not_followed)"
equal "large blocks" $((23 * 303104)) "$(live lose_large)"
equal "blocks that were freed" 0 "$(live pass)"

# estimated FUNCTION: the same by the library's own stacks
"$KF_CLI" report --metric=live --format=csv "$WORK/stats/leaks.$program".* \
	>"$WORK/report"
estimated() {
	awk -F, -v name="$1" '
		$6 == name { sum += $1 }
		END { print sum + 0 }' "$WORK/report"
}

for name in lose_small lose_large lose_zeroed grow; do
	[ "$(live "$name")" -gt 0 ] || fail "$name has nothing"
	equal "$name, by the tracer and by the stats file" "$(live "$name")" \
		"$(estimated "$name")"
done
small=$(live lose_zeroed)
if [ "$small" -le 20000 ] || [ "$small" -ge 60000 ]; then
	fail "37 blocks of 1008 bytes are estimated to have $small"
fi
