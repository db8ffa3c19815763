#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A live block may hold what a free one holds: a program copies or resizes a
# block that it has not written to. Its free is not taken for a second one.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

# goes_on BYTES [VARIABLE=VALUE]
goes_on() {
	status=0
	env "${2:-KONFISCATOR_STATS=1}" LD_PRELOAD="$KF_PRELOAD" \
		"${top_builddir:?}/tests/hostile/stale" "$1" \
		2>"$WORK/err" || status=$?
	equal "$*: what it said" "" "$(cat "$WORK/err")"
	equal "$*: status" 0 "$status"
}

for bytes in 16 64 200 1000 2000 5000 30000; do
	goes_on $bytes
	goes_on $bytes KONFISCATOR_ARENA_MAX=1
	goes_on $bytes KONFISCATOR_SAMPLE=64K
	goes_on $bytes KONFISCATOR_TAG=all
	goes_on $bytes "KONFISCATOR_RECORD=$WORK/recording"
done
