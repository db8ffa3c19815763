#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sort --parallel: threads that merge, and runs on disk.
. "$top_srcdir/tests/programs/same.sh"

needs sort coreutils
counts="sort"

job()
{
	awk 'BEGIN { x = 42; for (i = 0; i < 300000; i++) {
		x = (x * 16807) % 2147483647; print x, i } }' >in
	sort --parallel=4 -S 64M in | cksum
	sort --parallel=4 -S 1M -k 2,2n in | cksum
	sort -u -k 1,1.3 in | wc -l
}

same_result "$@"
