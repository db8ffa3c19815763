#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A loop of malloc and free of a large block is no loop of system calls: it
# makes as many of them in 10000 turns as in 100, but for a few.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs strace strace
workdir

strace -f -o "$WORK/log" true ||
	skip "strace may not trace here"

# calls TURNS SIZE...: the system calls about memory that this makes.
calls()
{
	strace -f -e trace=%memory -e signal=none -o "$WORK/log" \
		-E LD_PRELOAD="$KF_PRELOAD" \
		"${top_builddir:?}/tests/speed/again" "$@" ||
		fail "again $* ended with $?"
	grep -c '(' "$WORK/log"
}

for sizes in 300000 1048576 8388608 '300000 1048576 8388608'; do
	# shellcheck disable=SC2086
	few=$(calls 100 $sizes)
	# shellcheck disable=SC2086
	many=$(calls 10000 $sizes)
	echo "$sizes bytes: $few calls in 100 turns, $many in 10000"
	[ "$many" -le $((few + 20)) ] ||
		fail "$many system calls in 10000 turns of $sizes bytes"
done
