#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# On x86-64 the engine system adds at most 54 instructions to a malloc of up to
# 200 bytes of the GNU C library and 40 to its free, 88 and 74 to those of 1 KiB,
# 103 to calloc, and 80 to a delete that knows the size. All blocks fit into what
# glibc keeps for the thread, so that it does the same in both runs.
# shellcheck source=tests/speed/steps.sh
. "${top_srcdir:?}/tests/speed/steps.sh"

GLIBC_TUNABLES=glibc.malloc.tcache_count=100
export GLIBC_TUNABLES
count alone
KONFISCATOR_ENGINE=system
export KONFISCATOR_ENGINE
count system "$KF_PRELOAD"

awk '
BEGIN {
	bound["malloc", 16] = bound["malloc", 64] = bound["malloc", 200] = 54
	bound["free", 16] = bound["free", 64] = bound["free", 200] = 40
	bound["malloc", 1024] = 88; bound["free", 1024] = 74
	bound["calloc", 64] = 103
	bound["_Znwm", 64] = 58; bound["_ZdlPvm", 64] = 80
}
# Calls under a tag have no bound here: they take the slow path.
$6 { next }
# Some are there more than once.
{ what = $1 " " $2 " " ++seen[FILENAME, $1, $2] }
NR == FNR { alone[what] = $3; next }
($1, $2) in bound && what in alone {
	more = $3 - alone[what]
	printf "%-8s %6d %6d and %d\n", $1, $2, alone[what], more
	looked_at++
	if (more > bound[$1, $2]) {
		printf "FAIL: %s of %d bytes takes %d instructions more, not %d\n",
			$1, $2, more, bound[$1, $2]
		wrong = 1
	}
}
END {
	# Four sizes of malloc, their frees, and those of calloc and realloc;
	# calloc, new and delete.
	if (looked_at != 13)
		print "FAIL: there are " looked_at + 0 " measures to hold"
	exit wrong || looked_at != 13
}' "$WORK/alone" "$WORK/system"
