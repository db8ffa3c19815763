#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The script of tags tells how often each was entered, and what was allocated
# under it and not under those below it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

traced "$top_srcdir/scripts/bpftrace/tags.bt" under_traced \
	"$top_builddir/examples/minimal"

# told MAP TAG: what the script says of it
told() {
	sed -n "s/^@$1\\[$2\\]: //p" "$WORK/trace"
}

equal "pushes" 5 "$(traced_total push)"
equal "pops" 5 "$(traced_total pop)"
equal "allocations under tags" 5 "$(traced_total alloc)"
for row in "TopFunc 1 1 5" "FuncA 1 1 100" "FuncB 2 2 1000" \
	"FuncC 1 1 10000000"; do
	# shellcheck disable=SC2086 # words
	set -- $row
	equal "$1 entered" "$2" "$(told entered "$1")"
	equal "blocks of $1" "$3" "$(told blocks "$1")"
	equal "bytes of $1" "$4" "$(told bytes "$1")"
	[ "$(told nanoseconds "$1")" -gt 0 ] || fail "$1 took no time"
done
