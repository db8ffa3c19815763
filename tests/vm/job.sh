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
#		both tools at once: the kernel may crash when probes go away.
#		Run again, it goes on where it was interrupted
#	page	what "trace" has stap run for a script that is read from /proc
#
# $OUT gets, of each script, NAME.TOOL.out, .err and .status, and .stats, the
# stats files of the crowd that it saw. planted.TOOL.* are those of a script that
# names a probe that is not there, NAME.session.* those of a Debian program with
# many threads, and glibc-malloc.command.* what konfiscator trace told of it,
# outside of the machine. A trace that was void, as its tracer failed or lost
# events, is done again, some times; what the last one said is kept. Which counts
# are right is not judged here.
top_srcdir=/kf/src
top_builddir=/kf/build
# shellcheck source=tests/lib.sh
. "$top_srcdir/tests/lib.sh"
workdir
# A shell starts what is in the background with INT ignored.
TRACE_SIGNAL=TERM
BPFTRACE=bpftrace
# shellcheck source=tests/scripts/crowd.sh
. "$top_srcdir/tests/scripts/crowd.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
set +e

scripts=$top_srcdir/scripts
# The words of stap's command are a part of the module's name.
stats=/tmp/stats
crowd=$top_builddir/tests/scripts/crowd
# SystemTap gives up where its probes take too much of the time: as they do in
# an emulated machine.
slow=-DSTP_NO_OVERLOAD
# Large enough that each of 15 threads gets a block.
session="pigz -p 15 -c /usr/bin/perl"
libc=/usr/lib/x86_64-linux-gnu/libc.so.6
libstdcxx=/usr/lib/x86_64-linux-gnu/libstdc++.so.6
# Seconds for a script, of which the machine needs ten; how often it is tried.
script_limit=240
script_tries=3

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
	*)
		# shellcheck disable=SC2046 # words
		echo env KONFISCATOR_DIR="$stats" $(crowd_env "$1") \
			LD_PRELOAD="$KF_LIB" "$crowd" "$CROWD"
		;;
	esac
}

# compile FILE KIND PROGRAM LIBRARY: $OUT/NAME.KIND.ko holds the module's name.
# The stacks of the script of samples have names.
compile() {
	name=${1##*/}
	name=${name%.stp}
	[ "$name" != heap ] || set -- "$@" -d "$crowd" -d "$libc"
	name=$OUT/$name.$2
	from=$1
	program=$3
	library=$4
	shift 4
	status=0
	stap -p4 -r "$KERNEL" "$slow" "$@" "$from" -c "$program" "$library" \
		>"$name.ko" 2>"$name.err" || status=$?
	[ "$status" -eq 0 ] || echo "$status" >"$name.status"
}

# canary: whether SystemTap and the kernel go together, whatever our scripts say
canary() {
	[ -s "$OUT/canary.ko" ] || stap -p4 -r "$KERNEL" -e "
		probe process(\"$libstdcxx\").mark(\"throw\") { println(1) }
		probe begin { println(\"sings\"); exit() }" \
		>"$OUT/canary.ko" 2>"$OUT/canary.err"
}

prepare_stap() {
	for name in $(each stap); do
		compile "$scripts/stap/$name.stp" stap "$(program "$name")" \
			"$KF_LIB"
	done
	plant "$scripts/stap/frag.stp" "$WORK/planted.stp"
	compile "$WORK/planted.stp" stap "$(program planted)" "$KF_LIB"
}

prepare_session() {
	compile "$scripts/stap/malloc.stp" session \
		"env LD_PRELOAD=$KF_LIB $session" "$KF_LIB"
	compile "$scripts/glibc/glibc-malloc.stp" session "$session" "$libc"
	sed "s,/usr/lib64/,$KF_LIB," "$top_srcdir/tests/scripts/article.stp" \
		>"$WORK/article.stp"
	compile "$WORK/article.stp" session \
		"env LD_PRELOAD=$KF_LIB $session" "$KF_LIB"
}

# A copy of the library is another inode: what other programs of this machine
# do is not seen. A tracer that fails says nothing of its script, and leaves it
# to the machine.
prepare_bpftrace() {
	timeout -s KILL 120 bpftrace -e 'BEGIN { exit(); }' \
		>"$OUT/outside" 2>&1 || return
	copy_library
	for name in $(each bpftrace) planted; do
		[ "$name" = konfiscator ] || run_bpftrace "$name"
		case $name.$status in
		planted.* | *.0) ;;
		*) rm -rf "$OUT/$name.bpftrace".* ;;
		esac
	done
	! grep -q memory_heap_new "$libc" || trace_glibc
}

# The command finds the C library, and runs the program on that alone.
trace_glibc() {
	for _ in $(seq "$script_tries"); do
		status=0
		KONFISCATOR_SCRIPTS=$scripts timeout -k 10 "$script_limit" \
			"$top_builddir/konfiscator" trace glibc-malloc -- \
			sh -c "exec $session >/dev/null" \
			>"$OUT/glibc-malloc.command.out" \
			2>"$OUT/glibc-malloc.command.err" || status=$?
		[ "$status" -ne 0 ] || break
	done
	echo "$status" >"$OUT/glibc-malloc.command.status"
}

prepare() {
	for tool; do
		[ "$tool" = bpftrace ] || canary || continue
		case $tool in
		stap) prepare_stap ;;
		session) prepare_session ;;
		bpftrace) prepare_bpftrace ;;
		esac
	done
}

# void SEEN: SystemTap failed, or says that it left out events
void() {
	[ "$status" -ne 0 ] ||
		grep -E '^ERROR|skipped probes|transport failure' "$1.err"
}

# stap_trace NAME
stap_trace() {
	if [ "$1" = malloc ]; then
		# As a user does it; the module is found in the cache.
		timeout -k 10 "$script_limit" stap "$slow" \
			"$scripts/stap/malloc.stp" -c "$(program malloc)" \
			"$KF_LIB"
	else
		timeout -k 10 "$script_limit" staprun -c "$(program "$1")" \
			"$(cat "$OUT/$1.stap.ko")"
	fi
}

# run_stap NAME
run_stap() {
	seen=$OUT/$1.stap
	for _ in $(seq "$script_tries"); do
		rm -rf "$stats"
		mkdir -m 0700 "$stats"
		status=0
		stap_trace "$1" >"$seen.out" 2>"$seen.err" || status=$?
		void "$seen" || break
	done
	rm -rf "$WORK/stats"
	cp -a "$stats" "$WORK/stats"
	keep "$1.stap" "$status"
}

# run_bpftrace NAME
run_bpftrace() {
	if [ "$1" = planted ]; then
		plant "$scripts/bpftrace/frag.bt" "$WORK/planted.bt"
		trace_crowd "$WORK/planted.bt"
	else
		trace_crowd "$scripts/bpftrace/$1.bt"
	fi
}

# run_session NAME PROGRAM
run_session() {
	seen=$OUT/$1.session
	[ ! -e "$seen.status" ] || return
	for _ in $(seq "$script_tries"); do
		status=0
		timeout -k 10 "$script_limit" staprun -o "$seen.out" -c "$2" \
			"$(cat "$seen.ko")" >/dev/null 2>"$seen.err" ||
			status=$?
		void "$seen" || break
	done
	echo "$status" >"$seen.status"
}

# trace_one TOOL
trace_one() {
	if [ "$1" = session ]; then
		run_session malloc "env LD_PRELOAD=$KF_LIB $session"
		run_session article "env LD_PRELOAD=$KF_LIB $session"
		run_session glibc-malloc "$session"
		return
	fi
	for name in $(each "$1") planted; do
		[ ! -e "$OUT/$name.$1.status" ] || continue
		echo "$1: $name"
		case $1 in
		stap) run_stap "$name" ;;
		bpftrace) run_bpftrace "$name" ;;
		esac
	done
}

trace() {
	cd /tmp || exit 1
	TRACED=$KF_LIB
	if [ -s "$OUT/canary.ko" ] && [ ! -s "$OUT/canary.out" ]; then
		timeout 120 staprun "$(cat "$OUT/canary.ko")" \
			>"$OUT/canary.out" 2>>"$OUT/canary.err"
	fi
	for tool; do
		if [ "$tool" = bpftrace ] ||
			grep -qs sings "$OUT/canary.out"; then
			trace_one "$tool"
		fi
	done
}

page() {
	# shellcheck disable=SC2091 # run it
	$(program crowd)
	cat /proc/systemtap/*/__prometheus
}

what=$1
shift
case $what in
prepare) prepare "$@" ;;
trace) trace "$@" ;;
page) page ;;
esac
exit 0
