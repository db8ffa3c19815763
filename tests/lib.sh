# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the shell tests share. A test begins with
#
#	#!/bin/sh
#	# SPDX-License-Identifier: LGPL-2.1-or-later
#	# The fact that it shows.
#	# shellcheck source=tests/lib.sh
#	. "${top_srcdir:?}/tests/lib.sh"
#	workdir
#
# and passes when it comes to its end with status 0; it runs with `set -eu`.
#
#   fail MESSAGE...      end the test as failed (status 1), saying why
#   skip MESSAGE...      end the test as skipped (status 77); the message, which
#                        names what is missing, goes to the log and the console
#   need COMMAND...      skip unless every command is there; by its name, as
#                        `need promtool`, so that the message has it
#   needs COMMAND PACKAGE  the same of one command, and where to get it: at the
#                        beginning of a line, where ./check reads the package
#   valgrind_reads CMD...  skip where valgrind cannot read what this build has for
#                        debuggers
#   workdir              make a directory of the test's own, $WORK, removed at
#                        the end however it comes; TMPDIR points to it and
#                        KONFISCATOR_DIR to $WORK/stats. Mode 0700. The files
#                        of programs that end well stay there, to be looked at:
#                        KONFISCATOR_KEEP is 1. No samples are taken, as they
#                        are of other blocks in each run: KONFISCATOR_SAMPLE is
#                        0. A test of samples sets another distance, or unsets
#                        it to test the default
#   at_exit COMMAND      run this string before $WORK is removed, latest first;
#                        `at_exit "kill $pid"` for what goes on in the background
#   run_under CMD ARG... run a program with the library preloaded; needs workdir
#   run_under_exec ...   the same, in place of the shell that calls it: in the
#                        background, `run_under_exec CMD & pid=$!`, it makes $!
#                        the program's own pid
#   equal WHAT WANT GOT  fail unless the two strings are the same
#   engine_names         the names of engines.def, one a line: a test of "each
#                        engine" takes them from here, so that a new engine is
#                        tested by its line in the table
#   engines_but NAME...  the same but these
#   compile ARG...       run the C compiler; CC may be several words, as
#                        "ccache gcc" or "gcc -m64"
#   wait_for S CMD...    try CMD each tenth of a second until it succeeds; give
#                        up after S seconds with status 1. S is there to end a
#                        broken test, not to judge a slow machine: make it large
#
# From the environment (tests/Makemodule.am sets it): top_srcdir, top_builddir,
# KF_LIB (the library), KF_CLI, KF_EXPORTER, CC, PYTHON3, BPFTRACE, STAP,
# PROMTOOL, SHELLCHECK, CLANG_FORMAT, MANDOC. Made here: KF_PRELOAD, the same
# library by a name that LD_PRELOAD can hold (no space, no colon); by workdir.

set -eu

: "${top_srcdir:?is not set: run this by make check TESTS=...}"
: "${top_builddir:?is not set: run this by make check TESTS=...}"
: "${KF_LIB:=$top_builddir/.libs/libkonfiscator.so}"

# What the user has set for the library is not what is tested here.
for kf_name in $(env | sed -n 's/^\(KONFISCATOR_[A-Z0-9_]*\)=.*/\1/p'); do
	echo "$kf_name of the environment is ignored: a test sets the options"
	unset "$kf_name"
done

fail() {
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

skip() {
	printf 'SKIP: %s\n' "$*"
	if { true >&9; } 2>/dev/null; then
		printf 'SKIP: %s: %s\n' "${0##*/}" "$*" >&9
	fi
	exit 77
}

need() {
	for kf_name in "$@"; do
		command -v "$kf_name" >/dev/null 2>&1 ||
			skip "$kf_name is not installed"
	done
}

needs() {
	command -v "$1" >/dev/null || skip "$1 is missing (package $2)"
}

# valgrind 3.19 gives up over what clang 14 writes.
valgrind_reads() {
	kf_said=$(LD_PRELOAD=${KF_PRELOAD-} valgrind --tool=none "$@" 2>&1) || true
	case $kf_said in
	*'Valgrind: debuginfo reader:'*)
		skip "valgrind cannot read the debug information of this build"
		;;
	esac
}

kf_at_exit=
kf_link=
WORK=

at_exit() {
	kf_at_exit="$1
$kf_at_exit"
}

kf_cleanup() {
	kf_status=$?
	trap - EXIT
	set +e
	eval "$kf_at_exit"
	cd /
	[ -z "$kf_link" ] || rm -rf "$kf_link"
	[ -z "$WORK" ] || rm -rf "$WORK"
	exit "$kf_status"
}

workdir() {
	trap kf_cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/konfiscator-test.XXXXXX")
	mkdir -m 0700 "$WORK/stats" "$WORK/tmp"
	TMPDIR=$WORK/tmp
	KONFISCATOR_DIR=$WORK/stats
	KONFISCATOR_KEEP=1
	KONFISCATOR_SAMPLE=${KF_TEST_SAMPLE-0}
	export WORK TMPDIR KONFISCATOR_DIR KONFISCATOR_KEEP KONFISCATOR_SAMPLE

	# ld.so splits LD_PRELOAD at spaces and colons and knows no quoting.
	KF_PRELOAD=$KF_LIB
	case $KF_LIB in
	*[\ :]*)
		kf_link=$(mktemp -d /tmp/konfiscator-link.XXXXXX)
		chmod 0755 "$kf_link"
		KF_PRELOAD=$kf_link/${KF_LIB##*/}
		ln -s "$KF_LIB" "$KF_PRELOAD"
		;;
	esac
	export KF_PRELOAD
}

run_under_exec() {
	[ -n "$WORK" ] || fail "run_under: call workdir first"
	[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
	exec env LD_PRELOAD="$KF_PRELOAD" "$@"
}

run_under() {
	(run_under_exec "$@")
}

equal() {
	[ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

engine_names() {
	sed -n 's/^KF_ENGINE(\([a-z0-9_]*\),.*/\1/p' \
		"$top_srcdir/src/engines/engines.def" | grep . ||
		fail "engines.def names no engine"
}

engines_but() {
	kf_all=$(engine_names)
	for kf_but in "$@"; do
		echo "$kf_all" | grep -qx "$kf_but" ||
			fail "engines.def has no engine $kf_but"
		kf_all=$(echo "$kf_all" | grep -vx "$kf_but")
	done
	echo "$kf_all"
}

compile() {
	# shellcheck disable=SC2086 # a list
	${CC:-cc} "$@"
}

wait_for() {
	kf_tries=$(($1 * 10))
	shift
	until "$@"; do
		kf_tries=$((kf_tries - 1))
		[ "$kf_tries" -gt 0 ] || return 1
		sleep 0.1
	done
}
