#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each call of eight threads that exchange blocks is in the recording once, in
# an order that can be: no block is given twice, none goes that was not given;
# the most that was held is the stats file's, and an event takes few bytes.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"

expect 0 cli run --record "$WORK/heap.kfr" -- "$exchange" 8 20000
replay "$WORK/heap.kfr"
cat "$WORK/replay"
is anomalies 0
is unknown 0
is dropped 0
is torn 0
# Blocks go from thread to thread, off the fast path, most of the time.
[ "$(found untimed)" -gt 0 ] || fail "calls on the fast path are timed"
[ "$(found untimed)" -lt $(($(found events) / 2)) ] ||
	fail "calls are not timed: $(found untimed)"
is thread 33
is thread_end 32

new=$(($(found realloc) - $(found realloc_old)))
given=$(($(found malloc) + $(found calloc) + $(found aligned) + new))
equal "blocks given" "$(counter mallocs)" "$given"
equal "frees" "$(counter frees)" "$(found free)"
equal "callocs" "$(counter calloc_calls)" "$(found calloc)"
equal "aligned calls" "$(counter aligned_calls)" "$(found aligned)"
equal "reallocs" "$(counter realloc_calls)" "$(found realloc)"
equal "reallocs of NULL" "$(counter realloc_new)" "$new"
equal "peak" "$(counter peak_held)" "$(found peak)"
[ "$(found realloc_old)" -gt 1000 ] || fail "no block was resized"
[ "$(found bytes)" -le $(($(found events) * 16)) ] ||
	fail "an event takes more than 16 bytes: $(found bytes)"

# So many that a free comes in the moment in which another thread gives the
# block: one that is of the freeing thread's own slabs.
expect 0 cli run --record "$WORK/long" -- "$exchange" 8 1000000
replay "$WORK/long"
rm "$WORK/long"
is anomalies 0
is dropped 0

# An earlier recording makes room for that of a run; nothing else does.
expect 0 cli run --record "$WORK/heap.kfr" -- "$exchange" 1 400
replay "$WORK/heap.kfr"
is thread 5
echo precious >"$WORK/other"
expect 0 cli run --record "$WORK/other" -- "$exchange" 1 400
equal "a file that was there" precious "$(cat "$WORK/other")"
set -- "$WORK"/other.*
replay "$1"
is anomalies 0
