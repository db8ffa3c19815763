#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# What is counted in an attached process are all calls that its malloc gets: as
# bpftrace counts them by uprobes in the object that the program's malloc is in,
# between two moments at which it was stopped in a system call. Redis uses
# jemalloc, which has blocks of 8 bytes, and python3 the C library.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
needs gdb gdb
needs jq jq
workdir
need_tracing

# What is inside a realloc was counted with it: the C library's calls malloc.
cat >"$WORK/calls.bt" <<'EOF'
BEGIN { printf("ready\n"); }
uprobe:OBJECT:malloc /pid == $3 && !@inside[tid]/ { @calls["malloc"] += 1; }
uprobe:OBJECT:calloc /pid == $3/ { @calls["calloc"] += 1; }
uprobe:OBJECT:free /pid == $3 && !@inside[tid]/ { @calls["free"] += 1; }
uprobe:OBJECT:realloc /pid == $3/ { @calls["realloc"] += 1; @inside[tid] = 1; }
uprobe:OBJECT:realloc /pid == $3 && arg0 == 0/ { @calls["realloc of NULL"] += 1; }
uretprobe:OBJECT:realloc /pid == $3/ { delete(@inside[tid]); }
END {
	clear(@inside);
}
EOF

# Stopped, and in a system call: in the middle of no call.
is_quiet() {
	kill -STOP "$pid"
	for _ in 1 2 3 4 5 6 7 8 9; do
		if grep -q '^State:.T' "/proc/$pid/status" &&
			grep -q '^[0-9]' "/proc/$pid/syscall"; then
			return
		fi
		sleep 0.01
	done
	kill -CONT "$pid"
	return 1
}

between() {
	counters "$pid" "$WORK/a"
	kill -CONT "$pid"
	requests
	sleep 0.3
	wait_for 60 is_quiet || fail "$name is never quiet"
	counters "$pid" "$WORK/b"
}

calls() {
	awk -v name="@calls[$1]: " 'index($0, name) == 1 { n = $NF }
		END { print n + 0 }' "$WORK/trace"
}

counted() {
	jq -s "(.[1][0] as \$b | .[0][0] | with_entries(select(.value |
		type == \"number\") | .value = \$b[.key] - .value)) | $1" \
		"$WORK/a" "$WORK/b"
}

# counts_of NAME OBJECT: all calls of $pid during `requests`, in this object
counts_of() {
	name=$1
	TRACED=$(awk -v object="/$2" 'index($0, object) { print $NF; exit }' \
		"/proc/$pid/maps")
	[ -n "$TRACED" ] || fail "$name has no $2"
	TRACE_ARGS=$pid
	sed "s,OBJECT,$TRACED,g" "$WORK/calls.bt" >"$WORK/$name.bt"
	"$KF_CLI" attach "$pid" || fail "$name cannot be attached"
	wait_for 60 is_quiet || fail "$name is never quiet"
	traced "$WORK/$name.bt" between
	kill -CONT "$pid"
	cat "$WORK/trace"
	[ "$(calls malloc)" -gt 1000 ] || fail "$name: few calls"
	null=$(calls "realloc of NULL")
	equal "$name: malloc" "$(calls malloc)" "$(counted \
		".mallocs - .realloc_new - .calloc_calls")"
	equal "$name: calloc" "$(calls calloc)" "$(counted .calloc_calls)"
	equal "$name: realloc" "$(calls realloc)" "$(counted .realloc_calls)"
	equal "$name: free" "$(calls free)" "$(counted ".frees +
		.unknown_frees - (.realloc_new - $null)")"
	"$KF_CLI" detach "$pid" || fail "$name cannot be detached"
}

cli() {
	redis-cli -s "$WORK/redis" "$@"
}

ping() {
	cli ping 2>/dev/null | grep -q PONG
}

a_redis() {
	redis-server --port 0 --unixsocket "$WORK/redis" --save '' \
		--dir "$WORK" >"$WORK/redis.log" &
	pid=$!
	at_exit "kill -CONT $pid 2>/dev/null; kill $pid 2>/dev/null || :"
	wait_for 60 ping || fail "redis does not answer"
	requests() {
		seq 2000 | sed 's/.*/SET key:& &/' | cli >"$WORK/said"
		seq 500 | sed 's/.*/RPUSH list a:& b/' | cli >"$WORK/said"
		cli flushall sync >"$WORK/said"
	}
	object=libjemalloc.so
	grep -q "/$object" "/proc/$pid/maps" || object=libc.so
	counts_of redis "$object"
}

a_python() {
	cat >"$WORK/p.py" <<-'EOF'
	import json, os, sys
	def work():
	    text = json.dumps([{"n": i, "t": "x" * 40 * i} for i in range(200)])
	    return len(json.loads(text))
	work()
	while os.read(0, 1):
	    work()
	    os.write(1, b".")
	EOF
	mkfifo "$WORK/in" "$WORK/out"
	python3 "$WORK/p.py" <"$WORK/in" >"$WORK/out" &
	pid=$!
	at_exit "kill -CONT $pid 2>/dev/null; kill $pid 2>/dev/null || :"
	exec 3>"$WORK/in" 4<"$WORK/out"
	requests() {
		for _ in 1 2 3 4 5 6 7 8 9; do
			printf x >&3
			dd bs=1 count=1 <&4 >"$WORK/said" 2>&1
		done
	}
	requests
	pid=$(pgrep -nf "$WORK/p.py")
	counts_of python3 libc.so.6
}

a_python
if command -v redis-server >/dev/null; then
	a_redis
else
	echo "left out: redis-server is not installed"
fi
