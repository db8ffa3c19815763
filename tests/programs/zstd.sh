#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# zstd: several levels, threads, a dictionary.
. "$top_srcdir/tests/programs/same.sh"

needs zstd zstd
counts="zstd"

job()
{
	seq 400000 >in
	for level in 1 7 15; do
		zstd -q -T2 -"$level" -c in | cksum
	done
	zstd -q -T4 --long -c in | zstd -dc | cmp - in && echo same
}

same_result "$@"
