#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the kernel does not have ends in NULL and ENOMEM, at once, without a pool
# added in vain; of an address space that is small a smaller pool is taken.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

for additional in 1 100 4K 100M 1G 8000000T; do
	tlsf KONFISCATOR_TLSF_ADDITIONAL=$additional "$pools" refuse \
		>"$WORK/out" 2>&1 || fail "$additional: $(cat "$WORK/out")"
	[ ! -s "$WORK/out" ] || fail "$additional: $(cat "$WORK/out")"
done

tlsf KONFISCATOR_TLSF_INITIAL=1M prlimit --as=120000000 "$pools" fill \
	2>"$WORK/err" || fail "in 120 MB: $(cat "$WORK/err")"
grep -q 'bytes added$' "$WORK/err" || fail "no pool was added in 120 MB"
tlsf prlimit --as=60000000 "$pools" fill 2>"$WORK/err" ||
	fail "in 60 MB: $(cat "$WORK/err")"
grep -q '^konfiscator: tlsf pool: the kernel has only [0-9]* bytes for it$' \
	"$WORK/err" || fail "nothing is said of a smaller pool"
