#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Snapshots come by interval, on a signal, on order and at the end, by our names
# of the options and by malloc-tag's; what is no file is written into.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir

job=${top_builddir:?}/tests/tags/storm

# The one tag of the job, in a file.
tag() {
	jq -er '[.. | objects | select(has("scope_work")) | .scope_work] |
		length | select(. > 0)' "$1" >/dev/null ||
		fail "$1 does not tell of the tag"
}

KONFISCATOR_TAGS_JSON=$WORK/end.json KONFISCATOR_TAGS_DOT=$WORK/end.dot \
	run_under "$job" 1 0
tag "$WORK/end.json"
grep -q '^digraph' "$WORK/end.dot" || fail "end.dot is no graph"
MTAG_STATS_OUTPUT_JSON=$WORK/m.json run_under "$job" 1 0
tag "$WORK/m.json"

(
	cd "$WORK"
	MTAG_SNAPSHOT_INTERVAL_SEC=1 \
		MTAG_SNAPSHOT_OUTPUT_PREFIX_FILE_PATH=each run_under "$job" 1 2
)
tag "$WORK/each.0000.json"
tag "$WORK/each.0001.json"
[ -s "$WORK/each.0001.dot" ] || fail "there is no each.0001.dot"

ln -s "$WORK/target" "$WORK/link"
echo before >"$WORK/target"
KONFISCATOR_TAGS_JSON=$WORK/link run_under "$job" 1 0
[ -L "$WORK/link" ] || fail "a link was replaced"
equal "first line" before "$(head -n 1 "$WORK/target")"
KONFISCATOR_TAGS_JSON=/dev/null run_under "$job" 1 0
[ -c /dev/null ] || fail "/dev/null is no device any more"
KONFISCATOR_TAGS_JSON=/dev/stderr run_under "$job" 1 0 2>"$WORK/err"
tag "$WORK/err"

# An order is carried out by the next slow path.
run_under_exec "$job" 1 1000 &
pid=$!
at_exit "kill $pid 2>/dev/null"
wait_for 60 sh -c "'$KF_CLI' ctl $pid 'dump=$WORK/order' >'$WORK/reply' 2>&1" ||
	fail "$(cat "$WORK/reply")"
equal reply "snapshot number 0" "$(cat "$WORK/reply")"
tag "$WORK/order.0000.json"
kill "$pid"

KONFISCATOR_SNAPSHOT_SIGNAL=KILL run_under "$job" 1 0 2>"$WORK/err"
grep -q 'KONFISCATOR_SNAPSHOT_SIGNAL=KILL: not USR1' "$WORK/err" ||
	fail "a signal that cannot be used is not told: $(cat "$WORK/err")"
