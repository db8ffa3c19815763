# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of the scripts share; follows tests/lib.sh and workdir.
#
#   need_tracing		skip where bpftrace or the right to trace is missing
#   copy_library	make $TRACED, a copy of the library: another inode, so
#			that other programs under the library are not seen
#   trace_start SCRIPT	run a bpftrace script on $TRACED; returns once it is
#			attached. Its output goes to $WORK/trace
#   trace_lines N REGEX	wait for that many lines: what is not printed when the
#			tracer ends is lost, other than sums
#   trace_stop		end it as Ctrl-C does; fails unless it says 0
#   under_traced CMD...	run a program with $TRACED preloaded
#   traced_total EVENT	what the script says of @total[EVENT], 0 where nothing

TRACED=
trace_pid=

need_tracing() {
	grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
		skip "the library was built with --disable-probes"
	: "${BPFTRACE:=bpftrace}"
	need "$BPFTRACE"
	[ "$(id -u)" = 0 ] || skip "tracing needs root"
	timeout -s KILL 120 "$BPFTRACE" -e 'BEGIN { exit(); }' \
		>"$WORK/may" 2>&1 ||
		skip "bpftrace may not trace here: $(tail -n 1 "$WORK/may")"
}

copy_library() {
	TRACED=$WORK/libkonfiscator-traced.so
	cp "$KF_LIB" "$TRACED"
}

trace_start() {
	: >"$WORK/trace"
	timeout -k 10 300 "$BPFTRACE" "$1" "$TRACED" 0 >"$WORK/trace" \
		2>"$WORK/trace.err" &
	trace_pid=$!
	at_exit "kill -TERM $trace_pid 2>/dev/null"
	if ! wait_for 120 grep -q '^ready$' "$WORK/trace"; then
		cat "$WORK/trace" "$WORK/trace.err"
		fail "$1 was not attached"
	fi
}

has_lines() {
	[ "$(grep -c "$2" "$WORK/trace")" -ge "$1" ]
}

trace_lines() {
	wait_for 120 has_lines "$1" "$2" ||
		fail "fewer than $1 lines of '$2': $(cat "$WORK/trace")"
}

trace_stop() {
	kill -INT "$trace_pid" || fail "the tracer has gone: $(cat \
		"$WORK/trace.err")"
	# It may miss a signal that comes just before it waits for events.
	(
		while sleep 10 && kill -INT "$trace_pid"; do
			:
		done
	) 2>/dev/null &
	trace_again=$!
	trace_status=0
	wait "$trace_pid" || trace_status=$?
	kill "$trace_again" 2>/dev/null
	[ "$trace_status" = 0 ] ||
		fail "the tracer said $trace_status: $(cat "$WORK/trace.err")"
}

under_traced() {
	env LD_PRELOAD="$TRACED" "$@"
}

traced_total() {
	awk -v event="$1" '
		index($0, "@total[" event "]: ") == 1 { n = $2 }
		END { print n + 0 }' "$WORK/trace"
}
