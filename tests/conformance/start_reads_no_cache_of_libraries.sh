#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library loads nothing: the dynamic linker reads its cache once for a program
# with it, as without, also where samples are taken.
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
without=$(opened KONFISCATOR_SAMPLE=)
[ "$without" -eq 1 ] || skip "without the library it is read $without times"
preload=$KF_PRELOAD
equal "reads of the cache" 1 "$(opened KONFISCATOR_SAMPLE=)"
equal "reads of the cache with samples" 1 "$(opened KONFISCATOR_SAMPLE=1K)"
