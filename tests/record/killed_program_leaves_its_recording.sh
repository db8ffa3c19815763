#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The recording of a program that was killed by SIGKILL is whole, and so is what
# is left of one whose file is cut anywhere.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

for i in 1 2 3 4 5; do
	start_exchange "$WORK/heap.$i"
	kill -9 "$pid"
	end_exchange 137
	replay "$WORK/heap.$i"
	is anomalies 0
	is unknown 0
	is torn 0
	is dropped 0
	[ "$(found events)" -gt 100 ] || fail "only $(found events) events"
	echo "$(found events) events, $(found twins) twins"
	expect 0 cli report --view=anomalies "$WORK/heap.$i"
	equal "what report says" "no anomalies" "$(cat "$WORK/out" "$WORK/err")"
done

# In the middle of a chunk: what stands before it can be read.
size=$(wc -c <"$WORK/heap.5")
head -c $((size - 40000)) "$WORK/heap.5" >"$WORK/cut"
replay "$WORK/cut"
is torn 0

# Before its first block: nothing is in it, and it can be read.
status=0
recording "$WORK/early" "$top_builddir/tests/record/early" || status=$?
equal "status of a program that kills itself" 137 "$status"
expect 0 cli report --view=anomalies "$WORK/early"
equal "what report says of it" "no anomalies" "$(cat "$WORK/out" "$WORK/err")"
expect 0 cli report "$WORK/early"
equal "what report warns of" "" "$(cat "$WORK/err")"

# What comes behind a filter of system calls cannot be recorded, and that is told.
filtered=$top_builddir/tests/hostile/filtered
if timeout 60 "$filtered" prctl nothing; then
	recording "$WORK/filtered" "$filtered" prctl alone >"$WORK/log" 2>&1 ||
		fail "filtered: $(cat "$WORK/log")"
	expect 0 cli report "$WORK/filtered"
	grep -q "when the program filtered its system calls" "$WORK/err" ||
		fail "report of a filtered program: $(cat "$WORK/err")"
fi
