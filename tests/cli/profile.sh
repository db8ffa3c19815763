# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of profiles share; sourced after cli.sh.
#
#   stacks_begin         start mkstacks (see tests/fixture/mkstacks.c), or the
#                        program $mkstacks; its pid in $pid; ended with the test
#   stacks ORDER...      give it an order, and wait until its file says so
#   stacks_end           let it end
#   report ARG...        konfiscator report ARG..., its notes too

stacks_answer() {
	read -r kf_answer <&8 || return 1
	[ "$kf_answer" = ok ]
}

stacks_begin() {
	mkfifo "$WORK/orders" "$WORK/answers"
	"${mkstacks:-$top_builddir/tests/fixture/mkstacks}" \
		"$WORK/stats/mkstacks.1" \
		<"$WORK/orders" >"$WORK/answers" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	exec 7>"$WORK/orders" 8<"$WORK/answers"
	stacks_answer || fail "mkstacks did not start"
}

stacks() {
	echo "$*" >&7
	stacks_answer || fail "mkstacks did not take '$*'"
}

stacks_end() {
	exec 7>&-
	wait "$pid" || fail "mkstacks failed"
}

report() {
	"$KF_CLI" report "$@" 2>&1
}
