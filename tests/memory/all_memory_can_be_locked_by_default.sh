#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# mlockall() counts addresses that are only reserved: a program may lock all its
# memory within the kernel's usual limit of 8 MiB under the library, too.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

locked=${top_builddir:?}/tests/memory/locked
limit=8388608
"$locked" "$limit" 2>"$WORK/err" ||
	skip "no 8 MiB can be locked here: $(cat "$WORK/err")"
for stats in 0 1; do
	export KONFISCATOR_STATS="$stats"
	run_under "$locked" "$limit" 2>"$WORK/err" ||
		fail "KONFISCATOR_STATS=$stats: $(cat "$WORK/err")"
done
