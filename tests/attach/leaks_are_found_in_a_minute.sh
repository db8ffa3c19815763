#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The three commands of README for "a process that grows now" name the function
# that leaks within a minute, in a redis-server with a module that leaks, by
# jemalloc, and in a python3 by the line of Python.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gdb gdb
needs redis-benchmark redis-tools
needs redis-server redis-server
workdir
cd "$WORK"

PATH=${KF_CLI%/*}:$PATH
sed -n '/^    konfiscator attach --sample/,/^    konfiscator report/p' \
	"$top_srcdir/README.md" >commands
equal "commands in README" 3 "$(wc -l <commands)"

# found NAME PID: the commands; the first row of the report is in NAME.row
found() {
	began=$(date +%s)
	sed "s,PID,$2,g" commands >"$1.sh"
	sh -e "$1.sh" >"$1.out" 2>"$1.err" || return
	ended=$(date +%s)
	sed -n '/CALLED-BY/ { n; p; q }' "$1.out" >"$1.row"
	echo $((ended - began)) >"$1.seconds"
}

# leaks_in NAME FUNCTION: what was found
leaks_in() {
	[ -s "$1.row" ] || fail "$1: $(cat "$1.out" "$1.err")"
	cat "$1.row"
	grep -qF " $2 " "$1.row" || fail "$1: $(cat "$1.out")"
	echo "$1: $(cat "$1.seconds") s"
	[ "$(cat "$1.seconds")" -lt 60 ] || fail "$1: more than a minute"
}

ping() {
	redis-cli -s redis ping 2>/dev/null | grep -q PONG
}

redis-server --port 0 --unixsocket "$WORK/redis" --save '' --dir "$WORK" \
	--loadmodule "$top_builddir/tests/attach/.libs/leaky.so" >redis.log &
redis=$!
at_exit "kill $redis 2>/dev/null || :"
wait_for 60 ping || fail "redis: $(tail -n 3 redis.log)"
redis-benchmark -s redis -l -n 10000 -c 2 -q leaky.ask >bench 2>&1 &
at_exit "kill $! 2>/dev/null || :"

cat >leaky.py <<'EOF'
import time
class Sessions:
    def __init__(self):
        self.seen = []
    def remember(self, n):
        self.seen.append(bytearray(1000))
sessions = Sessions()
n = 0
while True:
    sessions.remember(n)
    text = "x" * 2000 + str(n)
    n += 1
    time.sleep(0.0005)
EOF
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
"$python" leaky.py &
pid=$!
at_exit "kill $pid 2>/dev/null || :"
sleep 1

found redis "$redis" &
first=$!
found python3 "$pid" || :
wait "$first" || :
leaks_in redis leaky_forget
leaks_in python3 "Sessions.remember (leaky.py:6)"
kill -0 "$redis" || fail "redis has ended"
kill -0 "$pid" || fail "python3 has ended"
