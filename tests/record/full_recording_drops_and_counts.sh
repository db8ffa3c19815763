#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recording that may not grow, or finds the disk full, drops what comes and
# counts it; the program does what it does without.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

# The marks of threads and the bytes held come to the calls.
compare() {
	calls=$(($(counter mallocs) + $(counter frees)))
	resized=$(($(counter realloc_calls) - $(counter realloc_new)))
	known=$((calls + 2 * resized))
	all=$(($(found events) + $(found dropped)))
	[ "$all" -ge "$known" ] || fail "$all events of $known calls"
	[ "$all" -le $((known + known / 10)) ] ||
		fail "$all events, dropped ones included, of $known calls"
	[ "$(found dropped)" -gt 1000 ] || fail "nothing was dropped"
	[ "$(found events)" -gt 1000 ] || fail "nothing was recorded"
	is torn 0
}

expect 0 cli run --record "$WORK/heap" --max-size 1M -- "$exchange" 4 40000
replay "$WORK/heap"
is full 27
[ "$(wc -c <"$WORK/heap")" -le 1048576 ] || fail "the file is too large"
compare
# Threads went on in their chunks when others found none: that is no history.
expect 0 cli report --view=anomalies "$WORK/heap"
grep -q '^no anomalies$' "$WORK/out" || fail "a full file has anomalies"
grep -q "ends after [0-9.]* s, when the file was full: [0-9]* later events are \
left out: File too large" "$WORK/err" || fail "$(cat "$WORK/err")"

# A thread that moves what it has filled, and finds room for a part of it only.
rm -f "$WORK"/stats/*
expect 0 cli run --record "$WORK/long" --max-size 2500K -- "$exchange" 1 200000
replay "$WORK/long"
is full 27
is chunks 38
compare
expect 0 cli report --view=anomalies "$WORK/long"
equal "what report says" "no anomalies" "$(cat "$WORK/out")"

mkdir "$WORK/small"
mount -t tmpfs -o size=512k tmpfs "$WORK/small"
at_exit "umount '$WORK/small'"
rm -f "$WORK"/stats/*
expect 0 cli run --record "$WORK/small/heap" -- "$exchange" 4 40000
replay "$WORK/small/heap"
is full 28
compare

mkdir "$WORK/larger"
mount -t tmpfs -o size=3000k tmpfs "$WORK/larger"
at_exit "umount '$WORK/larger'"
rm -f "$WORK"/stats/*
expect 0 cli run --record "$WORK/larger/heap" -- "$exchange" 1 200000
replay "$WORK/larger/heap"
is full 28
compare
expect 0 cli report --view=anomalies "$WORK/larger/heap"
equal "what report says" "no anomalies" "$(cat "$WORK/out")"

# Not even room for the header: one line, and the program runs.
dd if=/dev/zero of="$WORK/small/filler" bs=4k 2>/dev/null || :
rm "$WORK/small/heap"
dd if=/dev/zero of="$WORK/small/more" bs=4k 2>/dev/null || :
expect 0 cli run --record "$WORK/small/heap" -- "$exchange" 1 400
says "cannot be recorded into: errno 28"
[ ! -e "$WORK/small/heap" ] || fail "an empty file was left"
