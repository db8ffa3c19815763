#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SIGUSR1 every millisecond while 8 threads allocate under tags: every snapshot
# is valid JSON, and the program comes to its end. For 2 seconds, or as many as
# KF_STORM_SECONDS says (make check-storm: 10).
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir

KONFISCATOR_SNAPSHOT_SIGNAL=USR1 KONFISCATOR_SNAPSHOT_PREFIX=$WORK/storm \
	run_under "${top_builddir:?}/tests/tags/storm" 8 \
	"${KF_STORM_SECONDS:-2}" 300
nr=$(find "$WORK" -name 'storm.*.json' | wc -l)
echo "$nr snapshots"
# What comes while one is written is dropped.
[ "$nr" -ge 10 ] || fail "only $nr snapshots of at least 300 signals"
find "$WORK" -name 'storm.*.json' -exec jq -e '.PID' {} + >"$WORK/pids" ||
	fail "a snapshot is no JSON"
equal "valid snapshots" "$nr" "$(wc -l <"$WORK/pids")"
equal "left over" "" "$(find "$WORK" -name '*.part')"
