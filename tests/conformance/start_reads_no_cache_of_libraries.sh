#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library looks for nothing that is not there: the dynamic linker reads its
# cache once for a program with it, as without; and a program that allocates
# nothing takes no memory for its heap.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs strace strace
workdir

strace -o "$WORK/log" true ||
	skip "strace may not trace here"

# opened ENVIRONMENT...: how often true opens the cache
opened()
{
	env "$@" strace -o "$WORK/log" -e trace=openat \
		-E LD_PRELOAD="$preload" true || fail "true ended with $?"
	grep -c '/ld\.so\.cache"' "$WORK/log"
}

preload=
without=$(opened KONFISCATOR_STACKS=)
[ "$without" -eq 1 ] || skip "without the library it is read $without times"
preload=$KF_PRELOAD
with=$(opened -u KONFISCATOR_STACKS -u KONFISCATOR_SAMPLE)
[ "$with" -eq 1 ] || fail "the cache is read $with times"
asked=$(opened KONFISCATOR_STACKS=1)
[ "$asked" -gt 1 ] || fail "asked for stacks it is read $asked times"
