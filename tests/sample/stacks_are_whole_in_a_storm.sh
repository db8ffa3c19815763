#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While threads load and unload objects at the same addresses, others with
# stacks of 16 KiB come and go, and signals interrupt malloc, every sample has a
# stack, and every stack leads to what started its thread.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"

# The same size, other frames.
for depth in 1 2 3; do
	cat >"$WORK/plug.c" <<END
#include <stdlib.h>

__attribute__((noinline, noclone)) static int inner(int depth)
{
	char volatile room[64 * $depth];
	void *volatile p;

	room[depth] = 1;
	if (depth)
		return inner(depth - 1) + room[depth];
	p = malloc(30000);
	free(p);
	return 0;
}

void plug(void);
void plug(void)
{
	for (int i = 0; i < 20; i++)
		inner($depth);
}
END
	gcc -O2 -shared -fPIC -fomit-frame-pointer -o "$WORK/plug$depth.so" \
		"$WORK/plug.c" || fail "the object cannot be built"
done

KONFISCATOR_SAMPLE=1K run_under env KONFISCATOR_KEEP=1 \
	KONFISCATOR_SAMPLE_STACKS=65536 timeout 300 \
	"$top_builddir/tests/sample/storm" "$WORK"/plug[123].so >"$WORK/out" ||
	fail "storm: status $?"
equal "what storm says" over "$(cat "$WORK/out")"
equal "stacks that were given up" 0 \
	"$(cli stat -a --format=json -n storm | jq '.[0].stacks_failed')"
cli report "$WORK/stats"/storm.* --metric=alloc -o "$WORK/out.folded" \
	2>"$WORK/err" || fail "report: $(cat "$WORK/err")"
grep -v '^_start;\|^[_a-z]*clone[0-9]*;' "$WORK/out.folded" >"$WORK/torn" || :
[ ! -s "$WORK/torn" ] || fail "not whole: $(head -n 5 "$WORK/torn")"
for function in be_small be_busy plug; do
	grep -q "start_thread;.*$function;" "$WORK/out.folded" ||
		fail "no stack has $function"
done
