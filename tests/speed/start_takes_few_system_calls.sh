#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that does nothing makes few system calls more with the library than
# without, though its stats file is made at the start and its counts are in the
# ledger at the end; and a fork few more than a fork without.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs strace strace
workdir

strace -f -o "$WORK/log" true ||
	skip "strace may not trace here"

# calls COMMAND...: system calls of it, with the library $preload
calls()
{
	strace -f -e signal=none -o "$WORK/log" -E LD_PRELOAD="$preload" "$@" ||
		fail "$* ended with $?"
	grep -c '(' "$WORK/log"
}

# more COMMAND...: system calls that the library adds. The first run makes the
# ledger, and one in 64 sweeps the directory as well: the least of three counts.
more()
{
	preload=
	without=$(calls "$@")
	preload=$KF_PRELOAD
	calls "$@" >/dev/null
	with=$(printf '%s\n' "$(calls "$@")" "$(calls "$@")" "$(calls "$@")" |
		sort -n | head -n 1)
	echo $((with - without))
}

unset KONFISCATOR_KEEP KONFISCATOR_SAMPLE # samples are taken, as by default
start=$(more true)
echo "true makes $start system calls more"
grep -q 'true\.[0-9]*\.[0-9]*", O_RDWR|O_CREAT' "$WORK/log" ||
	fail "no stats file was made"
grep -q 'unlinkat.*true\.[0-9]*\.[0-9]*"' "$WORK/log" ||
	fail "the counts are not in the ledger"
[ "$start" -le 84 ] || fail "a start and an end take $start system calls more"

forks=$(more sh -c '(:); (:); (:); (:); (:); (:); (:); (:); (:); (:); :')
fork=$(((forks - start) / 10))
echo "a fork makes $fork system calls more"
[ "$fork" -le 18 ] || fail "a fork takes $fork system calls more"
