#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# konfiscator ctl begins and ends recordings while eight threads exchange
# blocks: what is in them is in an order that can be. Blocks that go and were
# never given are at most those that were there.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

# 2048 places of the table, and what each thread may have in its hands.
most_unknown=$((2048 + 2 * 8))

has_file() {
	cli ls -p "$pid" >"$WORK/out" 2>&1
}

start_exchange ''
cd "$WORK"
for i in 1 2 3; do
	expect 0 cli ctl "$pid" "record=heap.$i"
	prints "recording into $WORK/heap.$i"
	sleep 0.2
	expect 0 cli ctl "$pid" record=
	prints "stopped: $WORK/heap.$i"
done
expect 0 cli ctl "$pid" record=
prints "nothing is recorded"
expect 0 cli ctl "$pid" record=./off record=off
prints "stopped: $WORK/./off"

# One that is not stopped goes on until the end; a second order replaces it.
expect 0 cli ctl "$pid" record=first record=second
expect 0 cli ctl "$pid" record=second
prints "recording into $WORK/second.$pid"
sleep 0.2

expect 1 cli ctl "$pid" record=missing/heap
says "cannot record into $WORK/missing/heap: No such file or directory"
expect 0 cli ctl "$pid" record=last
sleep 0.2
end_exchange 0

for file in heap.1 heap.2 heap.3 first second "second.$pid" last; do
	replay "$file"
	is anomalies 0
	is torn 0
	is dropped 0
	[ "$(found unknown)" -le "$most_unknown" ] ||
		fail "$file: $(found unknown) unknown blocks were freed"
done
for file in heap.1 heap.2 heap.3 last; do
	replay "$file"
	[ "$(found events)" -gt 1000 ] || fail "$file: $(found events) events"
	[ "$(found thread)" -ge 8 ] || fail "$file: $(found thread) threads"
done
is stopped 0
replay heap.2
is stopped 1

# What cannot be ordered.
expect 2 cli ctl
says "a process is missing"
expect 2 cli ctl x
says "'x' is not a process number"
expect 2 cli ctl "$pid" colour=red
says "'colour=red' is not SETTING=VALUE"
expect 2 cli ctl --timeout=0 "$pid" record=
says "'0' is not a number of seconds"
expect 3 cli ctl "$pid" record=
says "there is no process $pid"
expect 3 cli ctl 1
says "process 1 has no stats file"

# A process that does nothing does not answer, and says so when it is too late.
run_under_exec sleep 1000 &
pid=$!
at_exit "kill $pid 2>/dev/null"
wait_for 60 has_file || fail "sleep did not start"
expect 1 cli ctl --timeout=1 "$pid" record=never
says "did not answer within 1 s: the order is withdrawn"
[ ! -e never ] || fail "a process that does nothing made a file"
