# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the hostile tests share: a program with threads and children runs where
# the stats file is in trouble, and has to give what it gives without the
# library.
#
#   private_mounts "$0"  begin again in a mount namespace of the test's own;
#                        before workdir. Skips where that is not permitted
#   bury DIR             mount an empty read-only directory over DIR, which is
#                        made when missing; needs private_mounts
#   bury_usual_dirs      so that no file can be made but in $KONFISCATOR_DIR;
#                        needs private_mounts
#   same_result          run the job without and with the library and compare
#                        stdout, stderr and status. These may be redefined:
#       limits           runs in the job's process before it starts
#       harm             runs while the job's threads allocate
#   stats_line           what the library says of its stats file
#   no_file              fail unless it says that there is none

# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"

[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"
unset XDG_RUNTIME_DIR

private_mounts() {
	[ -z "${KF_PRIVATE_MOUNTS:-}" ] || return 0
	need unshare mount umount
	user=
	[ "$(id -u)" -eq 0 ] || user=-r
	# shellcheck disable=SC2086
	unshare -m $user mount -t tmpfs -o size=64k tmpfs /tmp 2>/dev/null ||
		skip "mounts of its own are not permitted (unshare -m)"
	# shellcheck disable=SC2086
	KF_PRIVATE_MOUNTS=1 exec unshare -m $user "${SHELL:-/bin/sh}" "$1"
}

bury() {
	if [ ! -d "$1" ]; then
		mkdir -m 0700 "$1"
		at_exit "rmdir '$1'"
	fi
	mount -t tmpfs -o ro,size=4k tmpfs "$1"
	at_exit "umount '$1'"
}

bury_usual_dirs() {
	[ ! -d /run/konfiscator ] || bury /run/konfiscator
	bury "/tmp/konfiscator-stats-$(id -u)"
}

limits() { :; }
harm() { :; }

ready() {
	grep -q '^ready' "$1/out"
}

# one_run WHERE [VARIABLE=VALUE]: the outputs go through pipes, so that a limit
# on file sizes is none on them.
one_run() {
	dir=$WORK/$1
	mkdir "$dir"
	mkfifo "$dir/out.pipe" "$dir/err.pipe"
	: >"$dir/out"
	cat "$dir/out.pipe" >"$dir/out" &
	out=$!
	cat "$dir/err.pipe" >"$dir/err" &
	err=$!
	(
		exec >"$dir/out.pipe" 2>"$dir/err.pipe" </dev/null
		limits
		exec env ${2:+"$2"} "$PYTHON3" \
			"$top_srcdir/tests/hostile/job.py" "$dir/go"
	) &
	job=$!
	wait_for 120 ready "$dir" || kill -9 "$job"
	harm "$job"
	: >"$dir/go"
	status=0
	wait "$job" || status=$?
	wait "$out" "$err"
	printf 'status %s\n' "$status" >"$dir/status"
	rm "$dir/out.pipe" "$dir/err.pipe" "$dir/go"
}

same_result() {
	[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
	one_run without
	equal "status without the library" "status 3" \
		"$(cat "$WORK/without/status")"
	one_run with "LD_PRELOAD=$KF_PRELOAD"
	diff -r "$WORK/without" "$WORK/with" >"$WORK/diff" 2>&1 ||
		fail "differs without (<) and with (>) the library:
$(head -n 40 "$WORK/diff")"
}

stats_line() {
	(
		limits
		exec env LD_PRELOAD="$KF_PRELOAD" KONFISCATOR_VERBOSE=1 \
			"$PYTHON3" -c 'pass' 2>&1
	)
}

no_file() {
	line=$(stats_line)
	case $line in
	"konfiscator: no stats file: errno "[1-9]*": /"*) ;;
	*) fail "wanted no stats file, got: $line" ;;
	esac
}
