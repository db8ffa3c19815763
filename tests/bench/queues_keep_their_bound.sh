#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In xmalloc no more blocks are live than QUEUE batches and one for each thread.
# With four producers, a consumer that is slow, and batches of 128 blocks of 16 KiB
# (2 MiB), these are 12 MiB for a queue of one batch, and more for a longer one.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
xmalloc=$top_builddir/bench/programs/xmalloc

cat >"$WORK/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

void free(void *p)
{
	static void (*next)(void *);

	if (!next)
		next = dlsym(RTLD_NEXT, "free");
	nanosleep(&(struct timespec){0, 10000}, NULL);
	next(p);
}
END
compile -O1 -shared -fPIC -o "$WORK/slow.so" "$WORK/slow.c" -ldl

# peak_of QUEUE: KiB, of 60 batches
peak_of() {
	"$top_builddir/bench/launch" "$WORK/log" 600 "$WORK/slow.so" \
		"$xmalloc" 4 1 60 16384 16384 "$1" >"$WORK/out"
	grep -q ' exit 0$' "$WORK/out" || fail "xmalloc: $(cat "$WORK/log")"
	awk '{ print $4 }' "$WORK/out"
}

short=$(peak_of 1)
long=$(peak_of 64)
echo "peaks of $short and $long KiB"
[ "$short" -lt 40960 ] || fail "a peak of $short KiB with a queue of one batch"
[ "$long" -gt 49152 ] || fail "a peak of $long KiB with a queue for all batches"

status=0
"$xmalloc" 1 1 10 16 512 0 2>"$WORK/err" || status=$?
equal "status for a queue without room" 2 "$status"
grep -q 'QUEUE "0"' "$WORK/err" || fail "$(cat "$WORK/err")"
