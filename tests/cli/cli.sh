# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of the command line share; sourced after lib.sh and workdir.
#
#   cli ARG...           run konfiscator on the test's own stats directory
#   status_of CMD...     run a command, both streams into $WORK/out and
#                        $WORK/err, and print its exit status
#   expect S CMD...      fail unless the command ends with status S
#   says TEXT            fail unless the last expect's stderr holds TEXT
#   prints TEXT          the same for its stdout
#   mkstats ARG...       see tests/fixture/mkstats.c
#   sleeper              start a sleep, its pid in $pid; ended with the test
#   hold CMD...          start a program that takes samples, its pid in $program,
#                        and wait until it says "done"; what it says is in
#                        $WORK/said. It goes on until its input ends
#   release              end its input, and fail unless it ends well

need_built() {
	[ -x "$KF_CLI" ] || fail "$KF_CLI is not built"
	[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
}

cli() {
	"$KF_CLI" --dir="$WORK/stats" "$@"
}

status_of() {
	kf_rc=0
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null || kf_rc=$?
	echo "$kf_rc"
}

expect() {
	kf_want=$1
	shift
	kf_got=$(status_of "$@")
	[ "$kf_got" = "$kf_want" ] || {
		cat "$WORK/out" "$WORK/err"
		fail "$*: wanted status $kf_want, got $kf_got"
	}
}

says() {
	grep -qF -e "$1" "$WORK/err" || {
		cat "$WORK/err"
		fail "stderr does not say '$1'"
	}
}

prints() {
	grep -qF -e "$1" "$WORK/out" || {
		cat "$WORK/out"
		fail "stdout does not hold '$1'"
	}
}

mkstats() {
	"$top_builddir/tests/fixture/mkstats" "$@"
}

# Before its exec it is a shell: another program, to the reader.
is_sleep() {
	[ "$(cat "/proc/$pid/comm")" = sleep ]
}

sleeper() {
	sleep 1000 >/dev/null 2>&1 &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	wait_for 60 is_sleep || fail "sleep did not start"
}

program=

end_program() {
	[ -z "$program" ] || kill "$program" || :
	program=
}

# A program that is to take other samples is told by env.
hold() {
	rm -f "$WORK/in" "$WORK/said"
	mkfifo "$WORK/in"
	: >"$WORK/said"
	at_exit end_program
	KONFISCATOR_SAMPLE=1K "$@" <"$WORK/in" >"$WORK/said" &
	program=$!
	exec 4>"$WORK/in"
	wait_for 120 grep -q "^done" "$WORK/said" || fail "$* does not run"
}

release() {
	exec 4>&-
	wait "$program" || fail "the program ended with $?"
	program=
}

# Whether the command is built with AddressSanitizer.
is_sanitized() {
	nm -D "$KF_CLI" 2>/dev/null | grep -q __asan
}

# Names come from files.
unset DEBUGINFOD_URLS

# A command that is built with a sanitizer is run with LD_PRELOAD set, too.
ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS

need_built
