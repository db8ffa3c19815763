# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of recordings share; sourced after lib.sh and workdir.
#
#   replay FILE          play a recording back into $WORK/replay
#   found NAME           a number of it, see tests/record/replay.c
#   is NAME NUMBER       fail unless that is the number
#   counter NAME         a counter of the processes named exchange, by the
#                        stats files
#   start_exchange FILE  start eight threads that exchange blocks for ever, in
#                        $pid, recorded unless FILE is empty
#   end_exchange STATUS  end them, and fail unless that is their status
#   recording FILE CMD...  run a command under the library, recorded

# shellcheck source=tests/cli/cli.sh
. "${top_srcdir:?}/tests/cli/cli.sh"

exchange=${top_builddir:?}/tests/record/exchange

replay() {
	"$top_builddir/tests/record/replay" "$1" >"$WORK/replay" ||
		fail "$1 cannot be played back"
}

found() {
	sed -n "s/^$1 //p" "$WORK/replay"
}

is() {
	[ "$(found "$1")" = "$2" ] || {
		cat "$WORK/replay"
		fail "$1: wanted $2"
	}
}

counter() {
	cli --format=json stat -a -n exchange |
		sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"
}

recording() {
	kf_file=$1
	shift
	env LD_PRELOAD="$KF_PRELOAD" KONFISCATOR_RECORD="$kf_file" "$@"
}

says_ready() {
	grep -q ready "$WORK/ready"
}

start_exchange() {
	mkfifo "$WORK/end"
	: >"$WORK/ready"
	KONFISCATOR_RECORD=$1 run_under_exec "$exchange" 8 0 <"$WORK/end" >"$WORK/ready" &
	pid=$!
	exec 3>"$WORK/end"
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 120 says_ready || fail "the threads did not start"
}

end_exchange() {
	exec 3>&-
	kf_status=0
	wait "$pid" || kf_status=$?
	rm "$WORK/end"
	equal "status of the threads" "$1" "$kf_status"
}
