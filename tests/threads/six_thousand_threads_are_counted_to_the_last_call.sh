#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Six thousand threads at once are counted to the last call, in the stats file
# and in a recording, and what they have live is not taken for memory outside
# the heap.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

threads=6000
blocks=20
# ... and the array of its blocks, and what pthread_create allocates
each=$((blocks + 2))
crowd="${top_builddir:?}/tests/threads/crowd"

mkfifo "$WORK/end"

# start COMMAND...: runs it, comes back when all threads stand still; sets $pid
start() {
	: >"$WORK/said"
	"$@" <"$WORK/end" >"$WORK/said" &
	pid=$!
	exec 8>"$WORK/end"
	wait_for 300 began || fail "the threads do not begin"
	if ! grep -q ready "$WORK/said"; then
		exec 8>&-
		wait "$pid" || [ $? -eq 77 ] || fail "crowd ended otherwise"
		skip "there may not be $threads threads at once here"
	fi
}

began() {
	grep -q ready "$WORK/said" || ! kill -0 "$pid" 2>/dev/null
}

finish() {
	exec 8>&-
	wait "$pid" || fail "crowd ended with $?"
}

# value NAME: of the row of crowd, as the stats file has it now
value() {
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n crowd |
		sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"
}

under() {
	run_under_exec "$@"
}

# One thread more or less: what one costs, and what the program has besides.
start under "$crowd" 1 $blocks
one=$(value mallocs)
finish
rm -f "$KONFISCATOR_DIR"/*

start under "$crowd" $threads $blocks
equal "mallocs" $((one + each * (threads - 1))) "$(value mallocs)"
equal "callocs, one a thread" $threads "$(value calloc_calls)"
equal "threads" $((threads + 1)) "$(value threads)"
equal "arenas that nobody sees" 0 "$(value lost_slots)"
asked=$((threads * blocks * 3000))
live=$(value live_bytes)
[ "$live" -ge "$asked" ] || fail "$live bytes live of $asked"
"$KF_CLI" --dir="$KONFISCATOR_DIR" explain -w 0 -p "$pid" >"$WORK/why"
! head -2 "$WORK/why" | grep 'not the heap' || fail "the heap is told wrong"
finish
before=$(value frees)
[ "$before" -ge $(((blocks + 1) * threads)) ] || fail "$before frees"
rm -f "$KONFISCATOR_DIR"/*

start "$KF_CLI" --dir="$KONFISCATOR_DIR" run --record "$WORK/heap.kfr" -- \
	"$crowd" $threads 1
finish
"$KF_CLI" --format=json report "$WORK/heap.kfr" >"$WORK/report"
cat "$WORK/report"
while read -r name want; do
	equal "$name of the recording" "$want" \
		"$(sed -n "s/.*\"$name\": \([0-9]*\).*/\1/p" "$WORK/report")"
done <<EOF
threads $((threads + 1))
mallocs $((2 * threads))
callocs $threads
anomalies 0
dropped_events 0
damaged_chunks 0
EOF
