#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# stat's rows are the sums of their processes, the same in each format.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

expect 3 cli stat
says "no process under konfiscator"

sleeper
one=$pid
sleeper
two=$pid
sleeper
three=$pid
mkstats "$WORK/stats/1" pid="$one" name=pair blocks=16:1000:400 \
	mapped=1048576 free_runs=65536 slabs=983040 carved=16000 \
	mmaps=3 threads=2 failed=1 age=100
mkstats "$WORK/stats/2" pid="$two" name=pair blocks=16:500:100 \
	mapped=1048576 free_runs=1048576 mmaps=4 threads=1 age=100
mkstats "$WORK/stats/3" pid="$three" name=other blocks=16:10:0 mapped=4096 \
	largest_free=8
mkstats "$WORK/stats/4" name=gone start=1 blocks=16:5:0

expect 0 cli --format=json stat
"$PYTHON3" - "$WORK/out" <<'END' || fail "JSON of stat is wrong"
import json, sys
rows = {r["process"]: r for r in json.load(open(sys.argv[1]))}
assert set(rows) == {"pair", "other"}, rows
pair = rows["pair"]
assert pair["processes"] == 2
assert pair["mallocs"] == 1500 and pair["frees"] == 500
assert pair["live_blocks"] == 1000
assert pair["live_bytes"] == 16000
assert pair["held_bytes"] == 2097152
states = ["live", "rounding", "cached", "free", "metadata"]
assert sum(pair[s + "_bytes"] for s in states) == pair["held_bytes"]
assert pair["mmaps"] == 7 and pair["threads"] == 3 and pair["failed"] == 1
assert 13 < pair["mallocs_per_second"] < 15.1, pair
assert pair["resident_bytes"] > 0
assert rows["other"]["largest_free"] == 8
END

# One truth, whatever the format.
expect 0 cli --format=csv stat -n pair
"$PYTHON3" - "$WORK/out" <<'END' || fail "CSV of stat is wrong"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 1
assert rows[0]["process"] == "pair" and rows[0]["mallocs"] == "1500"
assert rows[0]["held_bytes"] == "2097152" and rows[0]["mmaps"] == "7"
END
expect 0 cli --format=prom stat
prints 'konfiscator_malloc_total{process="pair",container=""} 1500'
prints 'konfiscator_mmap_total{process="pair",container=""} 7'
prints 'konfiscator_failed_total{process="pair",container=""} 1'
prints '# TYPE konfiscator_malloc_total counter'
if [ "$PROMTOOL" != none ]; then
	"$PROMTOOL" check metrics <"$WORK/out" || fail "promtool refuses it"
fi

expect 0 cli --bytes stat
prints 2097152
expect 0 cli stat
prints 2.00Mi
equal "first by what is held" pair "$(awk 'NR == 2 { print $1 }' "$WORK/out")"
expect 0 cli stat --sort=process
equal "first by name" other "$(awk 'NR == 2 { print $1 }' "$WORK/out")"
expect 0 cli --no-header stat
equal "lines without header" 2 "$(wc -l <"$WORK/out" | tr -d ' ')"

expect 0 cli stat -p "$one,$three"
equal "lines of two pids" 3 "$(wc -l <"$WORK/out" | tr -d ' ')"
expect 0 cli stat -n 'p*'
equal "lines of a pattern" 2 "$(wc -l <"$WORK/out" | tr -d ' ')"
expect 0 cli stat -u "$(id -u)"
expect 3 cli stat -n nothing
says "no process matches"
expect 3 cli stat -c 0123456789ab
expect 0 cli stat -a
prints gone
prints dead

expect 0 cli --format=json stat --by=thread -p "$one"
"$PYTHON3" - "$WORK/out" "$one" <<'END' || fail "JSON of threads is wrong"
import json, sys
rows = json.load(open(sys.argv[1]))
assert len(rows) == 1, rows
assert rows[0]["pid"] == int(sys.argv[2]) and rows[0]["thread"] == "main"
assert rows[0]["allocated_bytes"] == 16000
assert rows[0]["net_bytes"] == 9600
END
expect 0 cli --format=json stat --by=pid
"$PYTHON3" - "$WORK/out" "$one" "$three" <<'END' || fail "JSON of pids is wrong"
import json, sys
rows = {r["pid"]: r for r in json.load(open(sys.argv[1]))}
assert len(rows) == 3 and {int(a) for a in sys.argv[2:]} < set(rows), rows
assert sum(r["mallocs"] for r in rows.values()) == 1510
assert not any("processes" in r for r in rows.values())
END
expect 0 cli stat --by=pid --sort=pid
equal "first column" PID "$(awk 'NR == 1 { print $1 }' "$WORK/out")"
expect 2 cli stat --by=pid --format=prom
expect 0 cli --format=json stat --by=container
"$PYTHON3" - "$WORK/out" <<'END' || fail "JSON of containers is wrong"
import json, sys
assert sum(r["mallocs"] for r in json.load(open(sys.argv[1]))) == 1510
END

rm "$WORK/stats/3"
echo text >"$WORK/stats/text"
expect 0 cli stat
says "1 file could not be read"
expect 0 cli -q stat
[ ! -s "$WORK/err" ] || fail "-q is not quiet"
expect 0 cli -v stat
says "$WORK/stats/text: foreign"
