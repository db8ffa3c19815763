#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Of a program that runs, and frees nearly all that it allocates, leaks and heap
# do not call held what was freed while the probes were attached and detached;
# what it really loses is the largest row of leaks, also where most stacks have no
# names. A second signal ends a tracer that takes long.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
need_tracing
! is_sanitized || skip "a sanitizer puts frames of its own between malloc and its caller"
unset BPFTRACE_NO_USER_SYMBOLS

cat >"$WORK/main.c" <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile slot[1000];
static void *volatile lost;

static __attribute__((noinline)) void churn(unsigned int i)
{
	free(slot[i % 1000]);
	slot[i % 1000] = malloc(1 + rand() % 1500);
}

static __attribute__((noinline)) void leak(void)
{
	lost = malloc(3000);
}

int main(int argc, char **argv)
{
	for (unsigned int i = 0;; i++) {
		churn((unsigned int)rand());
		if (i % 100)
			continue;
		if (argc > 1)
			leak();
		usleep(500);
	}
}
END
compile -O1 -g0 -fno-builtin -o "$WORK/main" "$WORK/main.c"

# start [ARG]: the program, its pid in $pid
start() {
	run_under_exec "$WORK/main" "$@" &
	pid=$!
	at_exit "kill $pid"
	sleep 1
}

ready_or_gone() {
	grep -q "trace: ready" "$WORK/err" || ! kill -0 "$tracer" 2>/dev/null
}

# trace SCRIPT: what it prints of $pid in $WORK/out
trace() {
	for try in 1 2 3 4 5; do
		"$KF_CLI" trace "$1" -p "$pid" >"$WORK/out" 2>"$WORK/err" &
		tracer=$!
		wait_for 60 ready_or_gone || fail "not ready: $(cat "$WORK/err")"
		sleep 4
		kill -INT "$tracer"
		wait "$tracer" && return
		echo "trace again: this was try $try: $(cat "$WORK/err")"
	done
	fail "bpftrace traces nothing"
}

# total KEY: its number
total() { sed -n "s/^@total\[$1\]: //p" "$WORK/out"; }

# At most 1000 blocks of 1500 bytes are live.
start
trace leaks
allocated=$(total bytes_allocated)
held=$((allocated - $(total bytes_freed)))
[ "${allocated:-0}" -gt 5000000 ] || fail "nothing was traced: $(cat "$WORK/err" "$WORK/out")"
if [ "$held" -gt 1500000 ] || [ "$held" -lt 0 ]; then
	fail "$held of $allocated bytes are called held: $(cat "$WORK/out")"
fi
cli ctl "$pid" sample=4K --wait=10 >/dev/null || fail "ctl: $(cat "$WORK/err")"
trace heap
sampled=$(total bytes)
held=$((sampled - $(total bytes_freed)))
[ "${sampled:-0}" -gt 1000000 ] || fail "no samples: $(cat "$WORK/err" "$WORK/out")"
[ "$held" -le 2500000 ] ||
	fail "$held of $sampled sampled bytes are called live: $(cat "$WORK/out")"
kill "$pid"

start leaks
trace leaks
awk '/^@bytes_held\[/ { name = $2 } /^\]: / { last = name } END { print last }' \
	"$WORK/out" | grep -q '^leak,$' ||
	fail "the leak is not the largest row: $(cat "$WORK/out")"
nr=$(grep -c '^\]: ' "$WORK/out")
[ "$nr" -le 20 ] || fail "$nr rows, not the 20 largest"
kill "$pid"
