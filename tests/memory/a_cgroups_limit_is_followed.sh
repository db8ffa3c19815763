#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# KONFISCATOR_LIMIT=N% in a memory cgroup of 256 MiB: a program that would grow the
# caches of its threads is not killed; a change of the cgroup's limit is followed
# within seconds, by a child too.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/memory/cgroup.sh
. "$top_srcdir/tests/memory/cgroup.sh"

M=1048576
program=${top_builddir:?}/tests/memory/limits

cgroup_make limit $((256 * M))
KONFISCATOR_LIMIT=90% cgroup_run env LD_PRELOAD="$KF_PRELOAD" \
	"$program" waves 11 160 2 >"$WORK/said" ||
	fail "killed within the limit: status $?"
[ "$(cat "$WORK/said")" -le $((256 * 1024)) ] || fail "$(cat "$WORK/said") KiB"

# asked: how many MiB there are now
asked() {
	said=$(wc -l <"$WORK/said")
	echo >&7
	wait_for 60 grew || fail "no answer"
	now=$(tail -n 1 "$WORK/said")
}

grew() {
	[ "$(wc -l <"$WORK/said")" -gt "$said" ]
}

# about MIB: within a tenth below it, as ENOMEM
about() {
	asked
	[ "${now#* }" = ENOMEM ] && [ "${now% *}" -le "$1" ] &&
		[ "${now% *}" -ge $(($1 * 9 / 10)) ]
}

mkfifo "$WORK/in"
: >"$WORK/said"
KONFISCATOR_LIMIT=75% KONFISCATOR_LIMIT_HARD=1 \
	cgroup_run env LD_PRELOAD="$KF_PRELOAD" "$program" fill 70000 \
	<"$WORK/in" >"$WORK/said" 2>"$WORK/err" &
pid=$!
exec 7>"$WORK/in"
at_exit "kill -9 $pid 2>/dev/null"
about 192 || fail "75 % of 256 MiB: $now"
cgroup_set $((128 * M))
sleep 2.5 # the next slow path looks again
about 96 || fail "75 % of 128 MiB: $now"
cgroup_set $((200 * M))
sleep 2.5
about 150 || fail "75 % of 200 MiB: $now"
exec 7>&-
wait "$pid" || fail "ended with status $?: $(cat "$WORK/err")"
cgroup_leave_it
