#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The second free of a block, the free of a part of one and of what lies in no
# pool end the program with one line that says which.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir
# shellcheck source=tests/tlsf/tlsf.sh
. "$top_srcdir/tests/tlsf/tlsf.sh"

# aborts HOW LINE: the line's end, which says where, is left out
aborts() {
	status=0
	tlsf prlimit --core=0 "$pools" "$1" >"$WORK/out" 2>&1 || status=$?
	equal "$1: status" 134 "$status"
	equal "$1" "$2" "$(grep '^konfiscator' "$WORK/out" |
		sed 's/ 0x[0-9a-f]*\( of [0-9]* bytes\)*, thread [0-9]*$//')"
}

aborts double 'konfiscator: double free of'
aborts inside 'konfiscator: invalid pointer'
aborts foreign 'konfiscator: invalid pointer'
