#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# xz -T: compress in threads and back.
. "$top_srcdir/tests/programs/same.sh"

needs xz xz-utils
counts="xz"

job()
{
	seq 600000 >in
	xz -T4 -3 --block-size=1MiB -c in >in.xz
	cksum <in.xz
	xz -T4 -dc in.xz | cmp - in && echo same
}

same_result "$@"
