# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests that trace leaks.c share; follows tests/lib.sh. It sources
# trace.sh, and makes the test's directory and $TRACED.
#
#   lose		run leaks.c on $TRACED until it is done, for traced; it
#			lives until the next one or the test's end, as a stack of
#			a process that has gone has no names. $LEAKS_ENV are
#			variables of it, words

# The names are what these tests are about; they come after all sums.
BPFTRACE_NO_USER_SYMBOLS=0
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library
program=
at_exit end_program

end_program() {
	if [ -n "$program" ]; then
		kill "$program"
		wait "$program" || :
		program=
	fi
}

lose() {
	end_program
	# shellcheck disable=SC2086 # words
	env ${LEAKS_ENV-} LD_PRELOAD="$TRACED" \
		"$top_builddir/tests/scripts/leaks" >"$WORK/said" &
	program=$!
	wait_for 300 grep -q '^done$' "$WORK/said" || fail "it is not done"
}
