#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# -w prints again with the rates of the time between, not those of the start.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

sleeper
mkstats "$WORK/stats/1" pid="$pid" name=watched blocks=16:1000:0 age=10

"$KF_CLI" --dir="$WORK/stats" --format=csv --no-header stat -w 0.2 \
	>"$WORK/out" &
watcher=$!
at_exit "kill $watcher 2>/dev/null"
lines() {
	[ "$(wc -l <"$WORK/out")" -ge "$1" ]
}
wait_for 60 lines 2 || fail "nothing was printed"
kill -0 "$watcher" || fail "stat -w ended by itself"
rate() {
	sed -n "$1p" "$WORK/out" | cut -d, -f10
}
# 1000 mallocs since the start, none since.
[ "$(rate 1)" != 0.000 ] || fail "the first rate is 0"
equal "the second rate" 0.000 "$(rate 2)"
kill -INT "$watcher" 2>/dev/null || kill "$watcher"
