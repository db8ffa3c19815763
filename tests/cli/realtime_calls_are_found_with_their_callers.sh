#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A planted malloc, the growth of a vector and the first buffer of a stream in a thread
# of 1 kHz are found with their callers, each call counted, those of other threads not:
# by konf_realtime_enter() and by the name of the thread, in three engines. With
# KONFISCATOR_REALTIME_ABORT=1 the first one ends the process with a line.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

program=${top_builddir:?}/tests/cli/loops

# calls FUNCTION CALLER: how many
calls() {
	jq "[.[] | select(.function == \"$1\" and (.stack | test(\"$2\"))) | .calls] |
		add // 0" "$WORK/told"
}

# Doublings of a vector to 100: 1, 2, 4, ... 128.
found() {
	cli realtime --format=json "$WORK"/stats/loops.* >"$WORK/told" ||
		fail "$1: realtime ended with $?"
	equal "$1: malloc" 100 "$(calls malloc planted_malloc)"
	equal "$1: its free" 100 "$(calls free planted_malloc)"
	equal "$1: growths" 8 "$(calls malloc grows_vector)"
	equal "$1: freed by growths" 7 "$(calls free grows_vector)"
	equal "$1: buffers" 1 "$(calls malloc prints_first)"
	equal "$1: others" 0 "$(calls malloc allowed)"
	equal "$1: threads" 1 "$(jq '[.[].thread] | unique | length' "$WORK/told")"
}

# loops HOW: with nothing on its stdin
loops() {
	run_under "$program" "$1" "$WORK/out" </dev/null
}

for engine in $(engines_but system); do
	rm -f "$WORK"/stats/*
	KONFISCATOR_ENGINE=$engine loops guarded >"$WORK/said"
	found "$engine"
	equal "$engine: all" 216 "$(jq '[.[].calls] | add' "$WORK/told")"
done

# While the thread lives its name is known.
rm -f "$WORK"/stats/*
mkfifo "$WORK/in"
run_under_exec "$program" guarded "$WORK/out" <"$WORK/in" >"$WORK/said" &
pid=$!
at_exit "kill $pid 2>/dev/null"
exec 7>"$WORK/in"
wait_for 60 grep -q "done" "$WORK/said" || fail "loops does not end its rounds"
cli realtime -p "$pid" >"$WORK/told"
grep -q '^ *216  control-1 (' "$WORK/told" || fail "$(cat "$WORK/told")"
exec 7>&-
wait "$pid" || fail "loops ended with $?"

rm -f "$WORK"/stats/*
KONFISCATOR_REALTIME='control*' loops named >"$WORK/said"
found named

# With samples of all blocks and a tag the guard counts the same, and profiles have
# the samples alone: 100 blocks in the loop and one behind it.
rm -f "$WORK"/stats/*
KONFISCATOR_SAMPLE=1 KONFISCATOR_TAG=all loops guarded >"$WORK/said"
found sampled
cli report --metric=count --filter=planted_malloc --format=json \
	"$WORK"/stats/loops.* >"$WORK/told"
equal "samples" 101 "$(jq '[.[].samples] | add' "$WORK/told")"

# Nobody is in the mode: nothing is counted.
rm -f "$WORK"/stats/*
loops named >"$WORK/said"
cli realtime "$WORK"/stats/loops.* >"$WORK/said" 2>"$WORK/err"
grep -q '^konfiscator: realtime: no thread' "$WORK/err" || fail "$(cat "$WORK/err")"

status=0
KONFISCATOR_REALTIME_ABORT=1 loops guarded >"$WORK/said" 2>"$WORK/err" || status=$?
equal "status of the abort" 134 "$status"
grep -q '^konfiscator: real-time thread [0-9]* (control-1) called malloc for 64 bytes at 0x[0-9a-f]*$' \
	"$WORK/err" || fail "$(cat "$WORK/err")"
