#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# prune deletes files of processes that have ended, no others, and says which.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

sleeper
mkstats "$WORK/stats/alive" pid="$pid"
mkstats "$WORK/stats/older" pid="$pid" age=10
mkstats "$WORK/stats/dead" start=1
mkstats "$WORK/stats/unknown" start=0
mkstats "$WORK/stats/next" major=2 start=1
mkstats "$WORK/stats/cut" start=1 size=1000
echo text >"$WORK/stats/text"
mkstats "$WORK/target" start=1
ln -s "$WORK/target" "$WORK/stats/link"

expect 0 cli prune --dry-run
prints "would delete"
prints "$WORK/stats/dead"
[ -e "$WORK/stats/dead" ] || fail "--dry-run deleted a file"

expect 0 cli prune
prints "$WORK/stats/dead"
prints "$WORK/stats/older"
equal "lines" 3 "$(wc -l <"$WORK/out" | tr -d ' ')"
equal "what is left" "alive cut link next text unknown" \
	"$(cd "$WORK/stats" && echo *)"
[ -e "$WORK/target" ] || fail "a file behind a link was deleted"

expect 0 cli prune
[ ! -s "$WORK/out" ] || fail "prune says something when there is nothing"

mkstats "$WORK/stats/dead" start=1
expect 0 cli -q prune
[ ! -s "$WORK/out" ] || fail "-q does not keep prune quiet"
[ ! -e "$WORK/stats/dead" ] || fail "-q keeps prune from deleting"
