# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of attach share: the program tests/attach/worker.c, which does
# what it is told; and the counters of a process.
#
#   worker [LIBRARY]     start it; $worker is its pid
#   tell LINE            give it a line; its answer is $answer
#   tell_ok LINE         the same; the answer must be ok
#   leave                let it end, which must be with status 0
#   counters PID FILE    write the counters of a process as JSON
#   grew NAME BY BEFORE AFTER  fail unless a counter grew by this number

worker_bin=$top_builddir/tests/attach/worker

worker() {
	rm -f "$WORK/in" "$WORK/out"
	mkfifo "$WORK/in" "$WORK/out"
	"$worker_bin" "$@" <"$WORK/in" >"$WORK/out" 2>"$WORK/said" &
	worker=$!
	at_exit "kill $worker 2>/dev/null || :"
	exec 3>"$WORK/in" 4<"$WORK/out"
}

tell() {
	echo "$1" >&3
	read -r answer <&4 || fail "$1: the program is gone"
}

tell_ok() {
	tell "$1"
	equal "$1" ok "$answer"
}

leave() {
	echo end >&3
	exec 3>&- 4<&-
	wait "$worker" || fail "the program ended with $?"
	[ ! -s "$WORK/said" ] || fail "it said: $(cat "$WORK/said")"
}

counters() {
	"$KF_CLI" stat --format=json -p "$1" >"$2" 2>"$WORK/stat.err" ||
		fail "stat: $(cat "$WORK/stat.err")"
}

grew() {
	equal "$1" "$2" "$(jq -s ".[1][0].$1 - .[0][0].$1" "$3" "$4")"
}
