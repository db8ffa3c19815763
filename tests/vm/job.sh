#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What runs in a root: job.sh prepare|trace|page TOOL... traces a crowd with
# every script of scripts/TOOL, stap or bpftrace, one after the other.
#
#	prepare	outside of the machine: compiles SystemTap's scripts, and runs
#		those of bpftrace but for konfiscator.bt where the kernel lets
#		it. bpftrace holds a compiler, of which the machine would need
#		a minute for each script
#	trace	in the machine: all that is left, stap's scripts first. Never
#		both tools at once: the kernel may crash when probes go away
#	page	what "trace" has stap run for a script that is read from /proc
#
# $OUT gets, of each script, NAME.TOOL.out, .err and .status, and .stats, the
# stats files of the crowd that it saw; NAME.session.* are the same of a Debian
# program with many threads. Which counts are right is not judged here.
set -u

scripts=/kf/src/scripts
crowd="/kf/build/tests/vm/crowd 3 7 101"
crowd="env KONFISCATOR_DIR=/tmp/stats LD_PRELOAD=$KF_LIB $crowd"
# SystemTap gives up where its probes take too much of the time: as they do in
# an emulated machine.
slow=-DSTP_NO_OVERLOAD
# Large enough that each of 15 threads gets a block.
session="pigz -p 15 -c /usr/bin/perl"
libc=/usr/lib/x86_64-linux-gnu/libc.so.6
libstdcxx=/usr/lib/x86_64-linux-gnu/libstdc++.so.6

# each TOOL: the names of its scripts
each() {
	case $1 in
	stap) (cd "$scripts/stap" && ls -- *.stp) | sed 's/\.stp$//' ;;
	bpftrace) (cd "$scripts/bpftrace" && ls -- *.bt) | sed 's/\.bt$//' ;;
	esac
}

# What stap runs for a script; the words are a part of the module's name.
program() {
	case $1 in
	prometheus) echo "sh /kf/src/tests/vm/job.sh page" ;;
	*) echo "$crowd" ;;
	esac
}

# compile SCRIPT KIND PROGRAM LIBRARY: $OUT/NAME.KIND.ko holds the module's name
compile() {
	file=$scripts/$1.stp
	set -- "${1##*/}" "$2" "$3" "$4"
	status=0
	stap -p4 -r "$KERNEL" $slow "$file" -c "$3" "$4" \
		>"$OUT/$1.$2.ko" 2>"$OUT/$1.$2.err" || status=$?
	[ "$status" -eq 0 ] || echo "$status" >"$OUT/$1.$2.status"
}

# canary: whether SystemTap and the kernel go together, whatever our scripts say
canary() {
	stap -p4 -r "$KERNEL" -e "probe process(\"$libstdcxx\").mark(\"throw\") { println(1) }
		probe begin { println(\"sings\"); exit() }" \
		>"$OUT/canary.ko" 2>"$OUT/canary.err"
}

prepare_all() {
	for tool; do
		if [ "$tool" = bpftrace ]; then
			bpftrace_outside
			continue
		fi
		canary || continue
		if [ "$tool" = session ]; then
			compile stap/malloc session \
				"env LD_PRELOAD=$KF_LIB $session" "$KF_LIB"
			compile glibc/glibc-malloc session "$session" "$libc"
			continue
		fi
		[ "$tool" = stap ] || continue
		for name in $(each stap); do
			compile "stap/$name" stap "$(program "$name")" "$KF_LIB"
		done
	done
}

# keep NAME.KIND STATUS: what the crowd left behind
keep() {
	echo "$2" >"$OUT/$1.status"
	rm -rf "$OUT/$1.stats"
	mkdir "$OUT/$1.stats"
	cp -a /tmp/stats/. "$OUT/$1.stats"
	rm -rf /tmp/stats
}

new_stats() {
	rm -rf /tmp/stats
	mkdir -m 0700 /tmp/stats
}

run_stap() {
	new_stats
	status=0
	if [ "$1" = malloc ]; then
		# As a user does it; the module is found in the cache.
		stap $slow "$scripts/stap/malloc.stp" -c "$crowd" "$KF_LIB"
	else
		staprun -c "$(program "$1")" "$(cat "$OUT/$1.stap.ko")"
	fi >"$OUT/$1.stap.out" 2>"$OUT/$1.stap.err" || status=$?
	keep "$1.stap" "$status"
}

# wait_for N CMD...: try it N times in N fifths of a second
wait_for() {
	tries=$1
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.2
	done
}

lives() {
	case $(sed 's/.*) //; s/ .*//' "/proc/$tracer/stat" 2>/dev/null) in
	'' | Z | X) return 1 ;;
	esac
}

is_ready() {
	! lives || grep -q '^ready$' "$OUT/$1.bpftrace.out"
}

# Asleep each time that one looks: it has printed what there was.
is_idle() {
	lives || return 0
	for _ in 1 2 3 4 5; do
		grep -q ') S ' "/proc/$tracer/stat" || return 1
		sleep 0.1
	done
}

is_over() {
	! lives || {
		kill -TERM "$tracer" 2>/dev/null
		sleep 5
		! lives
	}
}

# run_bpftrace NAME LIBRARY
run_bpftrace() {
	seen=$OUT/$1.bpftrace
	new_stats
	bpftrace "$scripts/bpftrace/$1.bt" "$2" 0 >"$seen.out" 2>"$seen.err" &
	tracer=$!
	wait_for 1500 is_ready "$1"
	env KONFISCATOR_DIR=/tmp/stats LD_PRELOAD="$2" \
		/kf/build/tests/vm/crowd 3 7 101
	wait_for 300 is_idle
	kill -TERM "$tracer" 2>/dev/null
	wait_for 25 eval '! lives' || wait_for 30 is_over || kill -KILL "$tracer"
	status=0
	wait "$tracer" || status=$?
	keep "$1.bpftrace" "$status"
}

# A copy of the library is another inode: what other programs of this machine
# do is not seen. A tracer that fails says nothing of its script: what failed
# three times is left to the machine.
bpftrace_outside() {
	timeout -s KILL 120 bpftrace -e 'BEGIN { exit(); }' \
		>"$OUT/outside" 2>&1 || return 0
	cp "$KF_LIB" "$OUT/libkonfiscator.so"
	for name in $(each bpftrace); do
		for _ in 1 2 3; do
			[ "$name" != konfiscator ] || break
			run_bpftrace "$name" "$OUT/libkonfiscator.so"
			[ "$status" -ne 0 ] || break
			rm -rf "$OUT/$name.bpftrace".*
		done
	done
}

# run_session NAME PROGRAM...
run_session() {
	[ -s "$OUT/$1.session.ko" ] || return
	status=0
	staprun -o "$OUT/$1.session.out" -c "$2" "$(cat "$OUT/$1.session.ko")" \
		>/dev/null 2>"$OUT/$1.session.err" || status=$?
	echo "$status" >"$OUT/$1.session.status"
}

trace_all() {
	cd /tmp || exit 1
	if [ -s "$OUT/canary.ko" ]; then
		timeout 120 staprun "$(cat "$OUT/canary.ko")" \
			>"$OUT/canary.out" 2>>"$OUT/canary.err"
	fi
	for tool; do
		if [ "$tool" != bpftrace ]; then
			grep -qs sings "$OUT/canary.out" || continue
		fi
		if [ "$tool" = session ]; then
			run_session malloc "env LD_PRELOAD=$KF_LIB $session"
			run_session glibc-malloc "$session"
			continue
		fi
		for name in $(each "$tool"); do
			[ ! -e "$OUT/$name.$tool.status" ] || continue
			echo "$tool: $name"
			"run_$tool" "$name" "$KF_LIB"
		done
	done
}

print_page() {
	$crowd
	cat /proc/systemtap/*/__prometheus
}

case $1 in
prepare | trace)
	what=$1
	shift
	"${what}_all" "$@"
	;;
page)
	print_page
	;;
esac
