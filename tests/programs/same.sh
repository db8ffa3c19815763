# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests of real programs share. Such a test names the commands it
# needs with their packages (./check installs these), names in `counts` the
# programs whose stats files have to prove that they ran on the library,
# defines `job`, and ends with
#
#	same_result "$@"
#
# which runs the job in the same fresh directory without the library, with each
# of its engines, and with jemalloc and mimalloc behind it, and compares stdout,
# stderr and exit status. A job prints only what is the same in every run.

# lib.sh clears what the user has set for the library; a job's is from here.
job_stats=${KONFISCATOR_DIR:-}

# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"

# mallocs_in FILE: what the slots of a stats file counted; see
# src/stats/layout.h. Read by od alone, so that no reader of ours is believed.
# What has state 0 is no slot in use, and may be a part of the events.
mallocs_in()
{
	# The section "slots" is the sixth behind the head of 32 bytes.
	slots=$(od -An -v -t u4 -j 112 -N 12 "$1")
	# shellcheck disable=SC2086
	set -- "$1" $slots
	od -An -v -t u4 -w16 -j "$2" -N $(($3 * $4)) "$1" |
		awk -v lines=$(($3 / 16)) -v first=$(((32 + 42 * 8) / 16)) '
		(NR - 1) % lines == 0 { state = $1 }
		state && (NR - 1) % lines >= first { mallocs += $1 + $2 * 2^32 }
		END { printf "%d\n", mallocs }'
}

# proof COMM: some process of that name left a stats file with mallocs in it.
proof()
{
	for f in "$WORK/stats/$1".[0-9]*.[0-9]*; do
		[ -f "$f" ] || fail "no stats file says that $1 ran on $KF_LIB"
		[ "$(mallocs_in "$f")" -eq 0 ] || return 0
	done
	fail "$1 counted no malloc"
}

# run WHERE [ENGINE [PRELOAD]]: one run; its result goes to out, err and status in WHERE.
run()
{
	rm -rf "$WORK/run"
	mkdir -p "$WORK/run" "$WORK/$1"
	status=0
	env ${3:+LD_PRELOAD="$3"} timeout --kill-after=10 300 \
		"$0" job "$WORK/run" "${2:-}" \
		>"$WORK/$1/out" 2>"$WORK/$1/err" </dev/null || status=$?
	echo "$status" >"$WORK/$1/status"
}

# with ENGINE [LIBRARY]: a run with the library, another one behind it perhaps,
# its result held against that without.
with()
{
	rm -f "$WORK/stats/"*
	run with "$1" "$KF_PRELOAD${2:+:$2}"
	diff -r "$WORK/without" "$WORK/with" >"$WORK/diff" 2>&1 ||
		fail "differs without (<) and with (>) the library, engine $*:
$(head -n 40 "$WORK/diff")"
	# shellcheck disable=SC2154
	for program in $counts; do
		proof "$program"
	done
}

same_result()
{
	if [ "${1:-}" = job ]; then
		set +eu
		cd "$2" || exit 1
		export KONFISCATOR_DIR="$job_stats" KONFISCATOR_KEEP=1
		export HOME="$2" TMPDIR="$2"
		export TZ=UTC PYTHONHASHSEED=0
		[ -z "${3:-}" ] || export KONFISCATOR_ENGINE="$3"
		# What a pool that grows says would be another output.
		export KONFISCATOR_TLSF_INITIAL=1G
		job
		exit
	fi

	[ -f "$KF_LIB" ] || fail "$KF_LIB is not built"
	workdir

	run without
	cat "$WORK/without/out" "$WORK/without/err"
	[ -s "$WORK/without/out" ] || fail "the job printed nothing to compare"
	[ "$(cat "$WORK/without/status")" -eq 0 ] ||
		fail "ended with $(cat "$WORK/without/status") without the library"
	engine_names >"$WORK/engines"
	while read -r engine; do
		with "$engine"
	done <"$WORK/engines"
	for other in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libmimalloc.so.2; do
		[ -e "$other" ] || continue
		# What a program sees there without us may be another thing, or
		# its end: such a job sets `reference`.
		[ "${reference:-other}" = plain ] || run without '' "$other"
		with system "$other"
	done
}
