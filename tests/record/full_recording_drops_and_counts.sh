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

# fills FILE ERRNO THREADS ROUNDS OPTION...: such a recording is full by that,
# and what threads wrote who found chunks when others did not is no history.
fills() {
	file=$1 full=$2 threads=$3 rounds=$4
	shift 4
	rm -f "$WORK"/stats/*
	expect 0 cli run --record "$file" "$@" -- "$exchange" "$threads" "$rounds"
	replay "$file"
	is full "$full"
	compare
	expect 0 cli report --view=anomalies "$file"
	equal "what report says" "no anomalies" "$(cat "$WORK/out")"
}

# disk NAME SIZE: a small one
disk() {
	mkdir "$WORK/$1"
	mount -t tmpfs -o "size=$2" tmpfs "$WORK/$1"
	at_exit "umount '$WORK/$1'"
}

fills "$WORK/heap" 27 4 40000 --max-size 1M
[ "$(wc -c <"$WORK/heap")" -le 1048576 ] || fail "the file is too large"
grep -q "ends after [0-9.]* s, when the file was full: [0-9]* later events are \
missing: File too large" "$WORK/err" || fail "$(cat "$WORK/err")"

# A thread that moves what it has filled, and finds room for a part of it only.
fills "$WORK/long" 27 1 200000 --max-size 2500K
is chunks 38

disk small 512k
fills "$WORK/small/heap" 28 4 40000
disk larger 3000k
fills "$WORK/larger/heap" 28 1 200000

# Not even room for the header: one line, and the program runs.
dd if=/dev/zero of="$WORK/small/filler" bs=4k 2>/dev/null || :
rm "$WORK/small/heap"
dd if=/dev/zero of="$WORK/small/more" bs=4k 2>/dev/null || :
expect 0 cli run --record "$WORK/small/heap" -- "$exchange" 1 400
says "cannot be recorded into: errno 28"
[ ! -e "$WORK/small/heap" ] || fail "an empty file was left"
