#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that had 200 MB, gave all back and does hardly anything since, is
# small again within seconds; so is one whose threads had them. The bound is
# below what may stay until it is old.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

for threads in 0 4; do
	run_under "${top_builddir:?}/tests/speed/peak" 10 60 "$threads" ||
		fail "with $threads threads it is too large after 60 seconds"
done
