#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that has itself killed for all system calls but malloc's lives: with
# threads, in children, with each engine, sampled, recorded, tagged, and whatever is
# ordered of it. konfiscator ctl gives such a one no order.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

job=${top_builddir:?}/tests/hostile/filtered

# lives WHAT [VARIABLE=VALUE...]
lives() {
	what=$1
	shift
	for how in prctl syscall; do
		rc=0
		run_under env "$@" timeout -k 9 120 "$job" "$how" "$what" \
			>"$WORK/out" 2>&1 || rc=$?
		[ "$rc" -eq 0 ] || fail "$how, $what, $*: status $rc:" \
			"$(cat "$WORK/out")"
		rm -rf "$WORK/heap"* "$WORK/tags"*
	done
}

timeout 60 "$job" prctl nothing ||
	skip "filters cannot be set here (seccomp)"

# With threads the C library's own malloc asks how many processors there are.
lives alone KONFISCATOR_ENGINE=system
for what in alone late threads fork; do
	lives "$what"
	for engine in $(engines_but firstfit system); do
		lives "$what" KONFISCATOR_ENGINE="$engine"
	done
	lives "$what" KONFISCATOR_STATS=0
	lives "$what" KONFISCATOR_SAMPLE=4K
	lives "$what" KONFISCATOR_RECORD="$WORK/heap"
	lives "$what" KONFISCATOR_TAG=all KONFISCATOR_TAG_STACKS='*' \
		KONFISCATOR_TAGS_JSON="$WORK/tags" \
		KONFISCATOR_SNAPSHOT_INTERVAL=1 \
		KONFISCATOR_SNAPSHOT_PREFIX="$WORK/tags"
	lives "$what" KONFISCATOR_RECORD="$WORK/heap" KONFISCATOR_SAMPLE=4K \
		KONFISCATOR_TAG=all
done

# libseccomp asks for much before, on a stack that is not the library's.
if command -v man >/dev/null && [ -e /usr/share/man/man1/ls.1.gz ]; then
	man -P cat ls >"$WORK/wanted" 2>&1 || :
	run_under man -P cat ls >"$WORK/out" 2>&1 || :
	cmp "$WORK/wanted" "$WORK/out" || fail "man: $(head -n 3 "$WORK/out")"
fi

# Orders: the program's own filter, told by the kernel, and by the library where
# that is passed over.
run_under_exec "$job" syscall live "$WORK/ready" &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
wait_for 60 [ -s "$WORK/ready" ] || fail "the program did not start"
refusal="the program filters its system calls (seccomp), and might be killed"
for order in sample=4K record="$WORK/heap" dump="$WORK/tags" record= sample=0; do
	rc=0
	"$KF_CLI" ctl "$pid" "$order" >"$WORK/out" 2>&1 || rc=$?
	equal "status of $order" 1 "$rc"
	grep -q "ctl: process $pid filters its system calls" "$WORK/out" ||
		fail "$order: $(cat "$WORK/out")"
	rc=0
	"$KF_CLI" ctl --force "$pid" "$order" >"$WORK/out" 2>&1 || rc=$?
	equal "status of $order, forced" 1 "$rc"
	grep -qF "$refusal" "$WORK/out" || fail "$order: $(cat "$WORK/out")"
	kill -0 "$pid" || fail "$order ended the program"
done
[ ! -e "$WORK/heap" ] || fail "a recording was begun"
kill "$pid"
