#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# heap.bt tells what is live by the stacks of samples: large blocks, of which
# each is one, to the byte, small ones about, and freed ones not at all.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# The names that it is about; they come after all sums.
BPFTRACE_NO_USER_SYMBOLS=0
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library
program=
at_exit end_program

# It lives until the trace is over: a stack of a process that has gone has no
# names.
end_program() {
	if [ -n "$program" ]; then
		kill "$program"
		wait "$program" || :
		program=
	fi
}

lose() {
	end_program
	KONFISCATOR_SAMPLE=1K KONFISCATOR_SAMPLE_SEED=1 LD_PRELOAD=$TRACED \
		"$top_builddir/tests/scripts/leaks" >"$WORK/said" &
	program=$!
	wait_for 300 grep -q '^done$' "$WORK/said" || fail "it is not done"
}

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

traced "$top_srcdir/scripts/bpftrace/heap.bt" lose
equal "samples without room" 0 "$(traced_total not_followed)"
equal "large blocks" $((23 * 303104)) "$(live lose_large)"
equal "blocks that were freed" 0 "$(live pass)"
small=$(live lose_zeroed)
if [ "$small" -le 20000 ] || [ "$small" -ge 60000 ]; then
	fail "37 blocks of 1008 bytes are estimated to have $small"
fi
