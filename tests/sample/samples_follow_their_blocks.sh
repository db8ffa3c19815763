#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While eight threads are busy, children fork, objects are loaded and handlers
# allocate, sampling is switched on and off: contents stay, no block is lost
# from the counters, and when all blocks are freed their samples are gone too.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
program=
at_exit end_program

end_program() {
	exec 4>&-
	if [ -n "$program" ]; then
		wait "$program" || {
			echo "busy ended with status $?"
			return 1
		}
		program=
	fi
}

# start [OPTION=VALUE...]: it runs until descriptor 4 is closed
start() {
	rm -rf "$WORK/stats"/* "$WORK/in"
	mkfifo "$WORK/in"
	run_under_exec env "$@" "$top_builddir/tests/sample/busy" <"$WORK/in" &
	program=$!
	exec 4>"$WORK/in"
	wait_for 300 has_file || fail "it makes no stats file"
}

has_file() {
	[ -n "$(find "$WORK/stats" -name "busy.$program.*")" ]
}

# of WORD: what the stats file of the program says
of() {
	"$KF_CLI" stat -a --format=json -p "$program" |
		jq ".[0].$1 // .processes[0].$1"
}

finish() {
	pid=$program
	end_program || fail "the program ended with an error"
	program=$pid
	live=$(of live_blocks)
	samples=$(of samples)
	failed=$(of stacks_failed)
	program=
}

start KONFISCATOR_SAMPLE=0
finish
bare=$live
equal "samples when off" 0 "$samples"

start KONFISCATOR_SAMPLE=4K
for mean in 1K 0 64K 2K 0 1K; do
	"$KF_CLI" ctl "$program" sample=$mean || fail "sample=$mean"
done

# A distance that changes often takes no memory away: busy checks each block.
for _ in $(seq 60); do
	"$KF_CLI" -q ctl "$program" sample=1K || fail "sample=1K"
	"$KF_CLI" -q ctl "$program" sample=2K || fail "sample=2K"
done

# What was under way may be counted a moment later.
"$KF_CLI" ctl "$program" sample=off || fail "sample=off"
sleep 0.2
samples=$(of samples)
mallocs=$(of mallocs)
sleep 0.2
equal "samples after sample=off" "$samples" "$(of samples)"
[ "$(of mallocs)" -gt "$mallocs" ] || fail "the program allocates no more"
"$KF_CLI" ctl "$program" sample=1K || fail "sample=1K after off"
finish
equal "live blocks" "$bare" "$live"
[ "$samples" -gt 100 ] || fail "only $samples samples"
[ "$failed" -gt 0 ] || fail "no stack was given up in a handler"
for file in "$WORK/stats/busy.$pid".*; do
	"$top_builddir/tests/sample/stacks" "$file" >"$WORK/stacks"
done
[ "$(wc -l <"$WORK/stacks")" -gt 5 ] || fail "too few stacks"
# Of the few blocks that the C library keeps some may be samples.
live_samples=$(awk '{ n += $4 - $5 } END { print n + 0 }' "$WORK/stacks")
[ "$live_samples" -le "$bare" ] ||
	fail "$live_samples samples are live, and $bare blocks"
