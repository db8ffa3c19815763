#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# bc and dc: long numbers.
. "$top_srcdir/tests/programs/same.sh"

needs bc bc
counts="bc"

job()
{
	BC_LINE_LENGTH=0 bc -l <<'END'
scale = 500
4 * a(1)
2 ^ 3000
define f(n) { if (n < 2) return 1; return n * f(n - 1) }
f(300)
1 / 0
END
}

same_result "$@"
