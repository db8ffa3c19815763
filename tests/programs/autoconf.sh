#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# m4 and autoconf: expand a macro language deeply.
. "$top_srcdir/tests/programs/same.sh"

needs m4 m4
needs autoconf autoconf
counts="m4 autom4te"

job()
{
	m4 <<'END'
define(`loop', `ifelse($1, 0, `', `loop(decr($1))eval($1 * $1).')')dnl
len(loop(500))
define(`x', format(`%01000d', 7))len(x`'x)
END
	cat >configure.ac <<'END'
AC_INIT([small], [1])
AC_PROG_CC
AC_CHECK_HEADERS([stdio.h stdlib.h])
AC_OUTPUT
END
	autoconf && grep -c . configure && cksum <configure
}

same_result "$@"
