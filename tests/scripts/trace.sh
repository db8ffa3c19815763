# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of the scripts share; follows tests/lib.sh and workdir.
#
#   need_tracing	skip where bpftrace or the right to trace is missing
#   copy_library	make $TRACED, a copy of the library: another inode, so
#			that other programs under the library are not seen
#   traced SCRIPT CMD...
#			run CMD, a command or a function, while a bpftrace
#			script follows $TRACED; then $WORK/trace is all that
#			the script printed. CMD is run anew, up to five times,
#			where the tracer itself failed: see below. $TRACE_ARGS
#			are further arguments of the script, words;
#			$TRACE_SIGNAL is what ends the tracer, INT or TERM
#   under_traced CMD...	run a program with $TRACED preloaded
#   traced_total EVENT	what the script says of @total[EVENT], 0 where nothing
#
# A tracer that ends with another status than 0, that could not load or attach
# a program, that says itself that it lost events, or whose END did not come to
# its end tells nothing about the library, so all of it is done again. A wrong
# count of one that ended well is the test's business.
#
# bpftrace loses things where it is told to end at a bad moment. A signal while
# it handles an event makes it drop the events behind that; one just before it
# waits is forgotten; one in its END makes it leave out what END prints, and
# its status is 0. So it is told when it sleeps, which it does only when its
# buffers are empty, and told again only while it sleeps and has let go of
# nothing.

# bpftrace 0.17 closes files that are not its own when it looks up the names of
# user stacks (the library for that does), maps among them, whose sums are then
# missing. So it does not, unless a test wants names.
: "${BPFTRACE_NO_USER_SYMBOLS:=1}"
export BPFTRACE_NO_USER_SYMBOLS

: "${TRACE_SIGNAL:=INT}"

TRACED=
trace_pid=
trace_void=

need_tracing() {
	grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
		skip "the library was built with --disable-probes"
	: "${BPFTRACE:=bpftrace}"
	need "$BPFTRACE"
	[ "$(id -u)" = 0 ] || skip "tracing needs root"
	for trace_try in 1 2 3; do
		timeout -s KILL 120 "$BPFTRACE" -e 'BEGIN { exit(); }' \
			>"$WORK/may" 2>&1 && return
	done
	skip "bpftrace may not trace here, tried $trace_try times:" \
		"$(tail -n 1 "$WORK/may")"
}

copy_library() {
	TRACED=$WORK/libkonfiscator-traced.so
	cp "$KF_LIB" "$TRACED"
}

# Its letter in /proc, empty where there is no such process. Starts none, to be
# quick where the processors are much in demand.
trace_state() {
	trace_line=
	read -r trace_line 2>/dev/null <"/proc/$trace_pid/stat" || :
	trace_line=${trace_line##*) }
	trace_line=${trace_line%% *}
}

trace_lives() {
	trace_state
	case $trace_line in
	'' | Z | X) return 1 ;;
	esac
}

trace_sleeps() {
	for trace_look in 1 2 3 4 5; do
		trace_state
		[ "$trace_line" = S ] || return 1
		[ "$trace_look" = 5 ] || sleep 0.05
	done
}

trace_fds() {
	find "/proc/$trace_pid/fd" -mindepth 1 2>/dev/null | wc -l
}

trace_over() {
	! trace_lives || trace_sleeps
}

trace_reap() {
	trace_status=0
	wait "$trace_pid" || trace_status=$?
	trace_pid=
}

# Killed, it leaves nothing behind; a kinder signal it may forget.
trace_kill() {
	if [ -n "$trace_pid" ]; then
		kill -KILL "$trace_pid" 2>/dev/null || :
		trace_reap
	fi
}

trace_failed() {
	trace_void=$*
	trace_kill
	cat "$WORK/trace" "$WORK/trace.err"
	echo "the trace is void: $*"
}

trace_ready() {
	! trace_lives || grep -q '^ready$' "$WORK/trace"
}

# Its last word, which only a script that comes to its end has.
TRACE_END='the last word of END'

# with_end SCRIPT: that, as the script's END has it, which is its last block
with_end() {
	sed '$ s/^}$/\tprintf("'"$TRACE_END"'\\n");\n}/' "$1"
}

trace_start() {
	trace_void=
	: >"$WORK/trace"
	with_end "$1" >"$WORK/traced.bt"
	# shellcheck disable=SC2086 # words
	"$BPFTRACE" "$WORK/traced.bt" "$TRACED" 0 ${TRACE_ARGS-} >"$WORK/trace" \
		2>"$WORK/trace.err" &
	trace_pid=$!
	wait_for 300 trace_ready || :
	if ! trace_lives || ! grep -q '^ready$' "$WORK/trace"; then
		trace_failed "${1##*/} was not attached"
	fi
}

# A tracer that is never idle is told in the end, for better or worse.
trace_stop() {
	wait_for 30 trace_over || echo "the tracer is never idle"
	trace_all=$(trace_fds)
	kill -s "$TRACE_SIGNAL" "$trace_pid" 2>/dev/null || :
	trace_tries=500
	while trace_lives && [ "$trace_tries" -gt 0 ]; do
		sleep 0.2
		trace_tries=$((trace_tries - 1))
		if trace_sleeps && [ "$(trace_fds)" -ge "$trace_all" ]; then
			kill -s "$TRACE_SIGNAL" "$trace_pid" 2>/dev/null || :
		fi
	done
	if trace_lives; then
		trace_failed "the tracer does not end"
		return
	fi
	trace_reap
	if [ "$trace_status" -ne 0 ]; then
		trace_failed "the tracer said $trace_status"
	elif grep -q '^Lost [0-9]* events' "$WORK/trace"; then
		trace_failed "events were lost"
	elif ! grep -qxF "$TRACE_END" "$WORK/trace"; then
		trace_failed "END did not come to its end"
	elif grep -q 'Error \(loading\|attaching\)' "$WORK/trace.err"; then
		trace_failed "a program was not loaded"
	else
		sed -i "/^$TRACE_END$/d" "$WORK/trace"
	fi
}

traced() {
	traced_script=$1
	shift
	at_exit trace_kill
	for traced_try in 1 2 3 4 5; do
		trace_start "$traced_script"
		[ -n "$trace_void" ] || "$@"
		[ -n "$trace_void" ] || trace_stop
		[ -n "$trace_void" ] || return 0
	done
	fail "$traced_script: tried $traced_try times: $trace_void"
}

under_traced() {
	env LD_PRELOAD="$TRACED" "$@"
}

traced_total() {
	awk -v event="$1" '
		index($0, "@total[" event "]: ") == 1 { n = $2 }
		END { print n + 0 }' "$WORK/trace"
}
