# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests of real programs share. Such a test names the commands it
# needs with their packages (./check installs these), names in `counts` the
# programs whose stats files have to prove that they ran on the library,
# defines `job`, and ends with
#
#	same_result "$@"
#
# which runs the job twice in the same fresh directory, without and with the
# library, and compares stdout, stderr and exit status. A job prints only what
# is the same in every run.

: "${top_srcdir:?is set by make check}" "${KF_LIB:?is set by make check}"

needs()
{
	if ! command -v "$1" >/dev/null; then
		echo "SKIP: $1 is missing (package $2)"
		exit 77
	fi
}

fail()
{
	echo "FAIL: $*" >&2
	exit 1
}

# mallocs_in FILE: what the slots of a stats file counted; see
# src/stats/layout.h. Read by od alone, so that no reader of ours is believed.
mallocs_in()
{
	# The section "slots" is the sixth behind the head of 32 bytes.
	slots=$(od -An -v -t u4 -j 112 -N 12 "$1")
	# shellcheck disable=SC2086
	set -- "$1" $slots
	od -An -v -t u8 -w16 -j "$2" -N $(($3 * $4)) "$1" |
		awk -v lines=$(($3 / 16)) -v first=$(((32 + 42 * 8) / 16)) '
		(NR - 1) % lines >= first { mallocs += $1 }
		END { printf "%d\n", mallocs }'
}

# proof COMM: some process of that name left a stats file with mallocs in it.
proof()
{
	for f in "$work/stats/$1".*; do
		[ -f "$f" ] || fail "no stats file says that $1 ran on $KF_LIB"
		[ "$(mallocs_in "$f")" -eq 0 ] || return 0
	done
	fail "$1 counted no malloc"
}

# run WHERE: one run; its result goes to out, err and status in WHERE.
run()
{
	rm -rf "$work/run"
	mkdir "$work/run" "$work/$1"
	timeout --kill-after=10 300 "$0" job "$work/run" \
		>"$work/$1/out" 2>"$work/$1/err" </dev/null
	echo "$?" >"$work/$1/status"
}

same_result()
{
	if [ "${1:-}" = job ]; then
		cd "$2" || exit 1
		export HOME="$2" TMPDIR="$2" TZ=UTC PYTHONHASHSEED=0
		job
		exit
	fi

	[ -f "$KF_LIB" ] || fail "$KF_LIB is not built"
	work=$(mktemp -d "${TMPDIR:-/tmp}/same.XXXXXX") || exit 1
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	mkdir "$work/stats"

	run without
	(
		export LD_PRELOAD="$KF_LIB" KONFISCATOR_DIR="$work/stats"
		run with
	)

	cat "$work/with/out" "$work/with/err"
	[ -s "$work/without/out" ] || fail "the job printed nothing to compare"
	[ "$(cat "$work/without/status")" -eq 0 ] ||
		fail "ended with $(cat "$work/without/status") without the library"
	diff -r "$work/without" "$work/with" >"$work/diff" 2>&1 ||
		fail "differs without (<) and with (>) the library:
$(head -n 40 "$work/diff")"
	# shellcheck disable=SC2154
	for program in $counts; do
		proof "$program"
	done
	exit 0
}
