#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ls lists good and bad files, with the state of their processes.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

expect 3 cli ls
says "no stats file"

sleeper
mkstats "$WORK/stats/alive" pid="$pid" comm=sleep
mkstats "$WORK/stats/dead" start=1 age=7200
mkstats "$WORK/stats/boot" pid="$pid" boot=another
mkstats "$WORK/stats/older" pid="$pid" age=10
mkstats "$WORK/stats/unknown" start=0
mkstats "$WORK/stats/next" major=2
mkstats "$WORK/stats/cut" size=1000
echo "hello there" >"$WORK/stats/text"
mkfifo "$WORK/stats/fifo"

state() {
	cli --no-header ls | awk -v f="$WORK/stats/$1" \
		'index($0, f) == length($0) - length(f) + 1 { print $3, $6 }'
}

equal "state of alive" "alive ok" "$(state alive)"
equal "state of dead" "dead ok" "$(state dead)"
equal "state of a file of another boot" "dead ok" "$(state boot)"
equal "state of an older file" "execed ok" "$(state older)"
equal "state without a start time" "unknown ok" "$(state unknown)"
equal "state of the next version" "bad incompatible" "$(state next)"
equal "state of a cut file" "bad damaged" "$(state cut)"
equal "state of a text" "bad foreign" "$(state text)"
equal "state of a FIFO" "bad foreign" "$(state fifo)"

expect 0 cli ls
prints "2h0m"
equal "lines" 10 "$(wc -l <"$WORK/out" | tr -d ' ')"

expect 0 cli --format=json ls -p "$pid"
"$PYTHON3" - "$WORK/out" "$pid" <<'END' || fail "JSON of ls is wrong"
import json, sys
rows = json.load(open(sys.argv[1]))
alive = [r for r in rows if r["state"] == "alive"]
assert len(alive) == 1, rows
assert alive[0]["pid"] == int(sys.argv[2])
assert alive[0]["process"] == "sleep"
assert alive[0]["size_bytes"] > 8192
assert all(r["pid"] == int(sys.argv[2]) for r in rows)
END
expect 3 cli ls -p 999999999
says "no stats file matches"
