#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job: a python3 and a redis-server under the library, seen by stat
# and ls while they run, and as ended by ls and prune after that.
. "$top_srcdir/tests/lib.sh"
need "$PYTHON3"
workdir
. "$top_srcdir/tests/cli/cli.sh"

# 100000 objects of 500 bytes: more than 50 MB that are live. Usually python3
# has small ones from an allocator of its own over mmap.
PYTHONMALLOC=malloc
export PYTHONMALLOC
mkfifo "$WORK/go"
"$KF_CLI" --dir="$WORK/stats" run --name py -- "$PYTHON3" -c '
import sys
x = [bytearray(500) for i in range(100000)]
print("ready", flush=True)
open(sys.argv[1]).read()
' "$WORK/go" >"$WORK/python.out" 2>"$WORK/python.err" &
python=$!
at_exit "kill $python 2>/dev/null"
wait_for 120 grep -q ready "$WORK/python.out" ||
	fail "python3 did not start: $(cat "$WORK/python.err")"

if command -v redis-server >/dev/null 2>&1; then
	"$KF_CLI" --dir="$WORK/stats" run -- redis-server --port 0 --save "" \
		--unixsocket "$WORK/redis.sock" --dir "$WORK" \
		>"$WORK/redis.out" 2>&1 &
	redis=$!
	at_exit "kill $redis 2>/dev/null"
	answers() {
		redis-cli -s "$WORK/redis.sock" ping 2>/dev/null | grep -q PONG
	}
	wait_for 120 answers || fail "redis: $(cat "$WORK/redis.out")"
	expect 0 cli --format=json stat -n 'redis-server*'
	prints '"redis-server'
fi

expect 0 cli --format=json stat -n py
"$PYTHON3" - "$WORK/out" <<'END' || fail "stat of python3 is wrong"
import json, sys
(row,) = json.load(open(sys.argv[1]))
assert row["processes"] == 1 and row["threads"] >= 1
assert row["live_blocks"] >= 100000, row
assert 50e6 < row["live_bytes"] < 100e6, row
assert row["mallocs"] - row["frees"] == row["live_blocks"]
states = ["live", "rounding", "cached", "free", "metadata"]
assert sum(row[s + "_bytes"] for s in states) == row["held_bytes"]
assert row["live_bytes"] <= row["held_bytes"] <= row["live_bytes"] * 2
assert row["resident_bytes"] > 50e6
END
expect 0 cli ls -p "$python"
prints alive
expect 0 cli --format=prom stat
prints 'konfiscator_processes{process="py",container=""} 1'
[ "$PROMTOOL" = none ] || "$PROMTOOL" check metrics <"$WORK/out" ||
	fail "promtool refuses it"
expect 0 cli stat --by=thread -n py
prints "in use"
if grep -qF "(shared)" "$WORK/out"; then
	fail "a heap that nobody used has a row"
fi

echo >"$WORK/go"
wait "$python" || fail "python3: $(cat "$WORK/python.err")"
expect 0 cli ls -n py
prints dead
expect 3 cli stat -n py
expect 0 cli prune
prints deleted
expect 3 cli ls -n py
