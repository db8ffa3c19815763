#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Before, during and after dlopen(), in constructors of what is loaded and in
# threads that allocate meanwhile, each sample has its stack, whole.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs jq jq
workdir
# shellcheck source=tests/sample/cases.sh
. "$top_srcdir/tests/sample/cases.sh"

cat >"$WORK/object.c" <<'END'
#include <stdlib.h>

static void *volatile block;

__attribute__((constructor)) static void construct(void)
{
	block = malloc(120000);
}

void plug(void);

void plug(void)
{
	block = malloc(140000);
}
END
# Debian's objects keep no frame pointers.
for frames in omit no-omit; do
	gcc -O2 -f$frames-frame-pointer -shared -fPIC -o "$WORK/$frames.so" \
		"$WORK/object.c" || fail "the object cannot be built"
	cases loading "$WORK/$frames.so"
	table "$WORK/stats"/* >"$WORK/table"
	sites "$WORK/table"
	equal "stacks that were given up" 0 "$(word stacks_failed)"
done
