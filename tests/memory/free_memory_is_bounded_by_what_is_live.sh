#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Free pages that the kernel has not got back are at most half of what is live
# and 16 MiB, whatever a program does, and next to nothing after some seconds of
# light use.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# at_most KIB ARG...
at_most() {
	want=$1
	shift
	got=$(run_under "${top_builddir:?}/tests/memory/peaks" "$@") ||
		fail "peaks $*: ended with status $?"
	[ "$got" -le "$want" ] || fail "peaks $*: $got KiB, wanted $want"
}

# 16 MiB, what blocks are rounded up by, and what threads keep for themselves.
at_most 20000 turns
at_most 27000 holes 33000 300000
at_most 27000 holes 10000 400000
at_most 27000 holes 130000 3000000
at_most 24000 later now
for how in small large grow free thread; do
	at_most 16000 later "$how"
done
