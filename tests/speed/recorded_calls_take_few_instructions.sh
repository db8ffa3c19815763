#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While calls are recorded a malloc of up to 200 bytes takes at most 175
# instructions on x86-64, and so does a free: here the numbers written down
# are long, as each step is slow. Where calls follow each other at once they take
# fewer.
# shellcheck source=tests/speed/steps.sh
. "${top_srcdir:?}/tests/speed/steps.sh"

KONFISCATOR_RECORD=$WORK/recording
export KONFISCATOR_RECORD
count steps "$KF_PRELOAD" small
[ -s "$WORK/recording" ] || fail "nothing was recorded"

printf '%-8s %6s %6s %9s %7s\n' call bytes median mean largest
cat "$WORK/steps"
awk '
BEGIN {
	bound["malloc"] = bound["free"] = 175
}
!($1 in bound) { next }
{ looked_at++ }
$3 > bound[$1] {
	printf "FAIL: %s of %d bytes takes %d instructions, not %d\n",
		$1, $2, $3, bound[$1]
	wrong = 1
}
END {
	# Three sizes of malloc, their frees, and those of calloc and realloc.
	if (looked_at != 8)
		print "FAIL: there are " looked_at + 0 " measures to hold"
	exit wrong || looked_at != 8
}' "$WORK/steps"
