#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In secure mode blocks with pages of their own grow and shrink in their place or
# have their pages moved, are used again after the quarantine and not before, and
# come without guards rather than not at all.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs prlimit util-linux
needs strace strace
workdir

guarded=${top_builddir:?}/tests/hostile/guarded
export KONFISCATOR_SECURE=1

# run ARG...: leaves its stats file alone in the directory
run() {
	rm -f "$WORK"/stats/*
	run_under "$guarded" "$@" || fail "guarded $*: status $?"
}

# counted WORD: of the last run
counted() {
	"$KF_CLI" --dir="$KONFISCATOR_DIR" --format=json stat -a -n guarded |
		jq ".[0].$1"
}

# Three blocks move once for each doubling of 64 KiB to 32 MiB, or of 5000 bytes.
run grow
moved=$(counted realloc_moved)
echo "$moved moves of three blocks that grow to 32 MiB"
[ "$moved" -le 36 ] || fail "three blocks that grow moved $moved times"
run shrink
equal "moves of a block that shrinks and grows again" 0 \
	"$(counted realloc_moved)"
run stay
equal "moves to the usable size" 0 "$(counted realloc_moved)"
run wait
equal "blocks without guards" 0 "$(counted unguarded)"

status=0
run_under prlimit --core=0 "$guarded" beside 2>"$WORK/err" || status=$?
equal "a block that grew and is written beside: status" 134 "$status"
grep -q 'bytes were written beside the block' "$WORK/err" ||
	fail "it said: $(cat "$WORK/err")"

rm -f "$WORK"/stats/*
run_under prlimit --as=$((400 << 20)) "$guarded" addresses ||
	fail "guarded addresses: status $?"
[ "$(counted unguarded)" -gt 10000 ] ||
	fail "$(counted unguarded) blocks without guards under RLIMIT_AS"
if [ "$(cat /proc/sys/vm/max_map_count)" -le 100000 ]; then
	run mappings
	[ "$(counted unguarded)" -gt 10000 ] ||
		fail "$(counted unguarded) blocks without guards of 80000"
fi

strace -f -o "$WORK/log" true || skip "strace may not trace here"
calls() {
	strace -e trace=%memory -e signal=none -o "$WORK/log" \
		-E LD_PRELOAD="$KF_PRELOAD" "$guarded" pairs "$1" ||
		fail "guarded pairs $1 ended with $?"
	grep -c '(' "$WORK/log"
}
few=$(calls 5000)
many=$(calls 15000)
echo "$few calls in 5000 turns, $many in 15000"
[ "$many" -le $((few + 20100)) ] ||
	fail "$((many - few)) system calls in 10000 pairs of malloc and free"
