#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# post-mortem tells of the latest process that did not end well, or of the one
# that is named; a process of which little is known is told with what is missing.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
need_built

deaths=$top_builddir/tests/cli/deaths

expect 3 cli post-mortem
says "no process that has ended left a stats file"
expect 3 cli post-mortem -n nothing
says "no process that has ended and matches left a stats file"
sleeper
mkstats "$WORK/stats/alive" pid="$pid" comm=sleep
expect 3 cli post-mortem "$pid"
says "process $pid still runs: see konfiscator explain $pid"
expect 3 cli post-mortem
rm "$WORK/stats/alive"

# one that lives for 50 ms
status=0
KONFISCATOR_SAMPLE=64K run_under_exec "$deaths" kill 2000 50 &
short=$!
wait "$short" 2>/dev/null || status=$?
equal "status" 137 "$status"
expect 0 cli post-mortem
prints "deaths ($short)"
prints "ended: signal or _exit"
prints "command: $deaths kill 2000 50"
prints "not known: which signal it was"
prints "PART "
prints "BEFORE-END"
prints "leaky < main"
prints "EVENT"
expect 0 cli post-mortem --format=json
jq -e --arg pid "$short" '(.pid | tostring) == $pid and
	(.growth | length) >= 2 and
	.growth[-1].before_end_seconds == 0 and
	.growth[-1].used_bytes == .live_bytes + .rounding_bytes and
	.growth[-1].held_bytes == .held_bytes and
	([.growth[].before_end_seconds] | . == (sort | reverse)) and
	(.events | length) > 0 and (.unknown | length) > 1 and
	.passed_over == [] and (.stacks | length) > 0' "$WORK/out" >/dev/null ||
	fail "JSON of a short life: $(cat "$WORK/out")"

# one without samples says how to get the stacks; it is later
status=0
KONFISCATOR_SAMPLE=0 KONFISCATOR_EVENTS=0 run_under_exec "$deaths" kill 20000 &
plain=$!
wait "$plain" 2>/dev/null || status=$?
expect 0 cli post-mortem
prints "deaths ($plain)"
prints "not known: the stacks"
prints "not known: its last events"
expect 0 cli post-mortem "$short"
prints "deaths ($short)"
expect 0 cli post-mortem "$(ls "$WORK"/stats/deaths."$short".*)"
prints "deaths ($short)"

# an end by exit 0 is passed over, but for one who names it
KONFISCATOR_KEEP=1 run_under_exec "$PYTHON3" -c 'pass' &
well=$!
wait "$well"
expect 0 cli post-mortem
prints "skipped, because they ended by exit 0:"
prints "($well)"
prints "deaths ($plain)"
expect 0 cli post-mortem -p "$well"
prints "ended: exit 0"
# ... and of many some are named
for _ in 1 2 3 4 5 6; do
	KONFISCATOR_KEEP=1 run_under "$PYTHON3" -c 'pass'
done
expect 0 cli post-mortem
grep -q '^skipped, .*: python3[^ ]* ([0-9]*), .*, and 3 more$' "$WORK/out" ||
	fail "not four of seven are named: $(head -n 1 "$WORK/out" | cut -c 1-300)"
expect 0 cli post-mortem -n 'python3*'
prints "ended: exit 0"
rm "$WORK"/stats/deaths.*
expect 3 cli post-mortem
says "all processes that left a stats file ended by exit 0"

# under another engine there is no clock
status=0
KONFISCATOR_SAMPLE=64K KONFISCATOR_ENGINE=tlsf run_under_exec "$deaths" kill 2000 &
wait "$!" 2>/dev/null || status=$?
expect 0 cli post-mortem
prints "not known: how its memory grew: only the engine firstfit reads a clock"

# a container is known by the cgroup in the file
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
mkstats "$WORK/stats/docker" start=1 comm=inside mapped=65536 \
	cgroup=/docker/$id
expect 0 cli post-mortem -c 0123456789ab
prints "container: $id"
expect 3 cli post-mortem -c 0123456789ac

expect 2 cli post-mortem -o x.unknown -c 0123456789ab
says "post-mortem: -o: 'x.unknown' does not end in one of"
expect 2 cli post-mortem --format=json -o x.pb.gz
says "exclude each other"
expect 2 cli post-mortem nonsense
says "neither a process number nor a stats file"
