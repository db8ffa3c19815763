#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With KONFISCATOR_LIMIT a program whose memory is short for others, as the kernel says
# in memory.pressure, keeps as little free memory as near the limit, while this lasts,
# and counts it. Without the option it does not look.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
if [ -z "${KF_PRIVATE_MOUNTS:-}" ]; then
	user=-r
	[ "$(id -u)" -ne 0 ] || user=
	# shellcheck disable=SC2086 # one word or none
	unshare $user -m true 2>/dev/null || skip "unshare -m is not permitted"
	# shellcheck disable=SC2086
	KF_PRIVATE_MOUNTS=1 exec unshare $user -m "${SHELL:-/bin/sh}" "$0"
fi
workdir
. "$top_srcdir/tests/cli/cli.sh"
# shellcheck source=tests/memory/cgroup.sh
. "$top_srcdir/tests/memory/cgroup.sh"

# The file that the library reads is the test's, in this name space.
file=/proc/pressure/memory
if [ -z "$kf_v1" ]; then
	own=$(cgroup_place cgroup2 '')$kf_v2/memory.pressure
	[ ! -f "$own" ] || file=$own
fi
[ -f "$file" ] || skip "the kernel has no $file"

# stalled MICROSECONDS: since the boot
stalled() {
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n' "$1" >"$WORK/pressure"
}

stalled 1000
mount --bind "$WORK/pressure" "$file" || skip "no mount at $file"

begin() {
	rm -f "$WORK/in" "$WORK"/stats/*
	mkfifo "$WORK/in"
	: >"$WORK/said"
	run_under_exec "${top_builddir:?}/tests/memory/limits" wanes <"$WORK/in" \
		>"$WORK/said" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	exec 7>"$WORK/in"
}

wanes() {
	lines=$(($(wc -l <"$WORK/said") + 1))
	echo >&7
	wait_for 20 has_lines || fail "no answer"
}

has_lines() {
	[ "$(wc -l <"$WORK/said")" -eq "$lines" ]
}

word() {
	cli stat -p "$pid" --format=json | jq -r "[.[] | .. | .$1? // empty] | first"
}

# keeps WORDS: free pages beyond a MiB, as usual
keeps() {
	wanes
	[ "$(word dirty)" -ge $((4 << 20)) ] || fail "$1: $(word dirty) bytes kept"
}

finish() {
	exec 7>&-
	wait "$pid" || fail "ended with status $?"
}

export KONFISCATOR_PURGE_MS=600000
KONFISCATOR_LIMIT=1G begin
keeps "at first"
equal "not yet" 0 "$(word memory_pressure)"
stalled 9001000
sleep 2.1 # the next slow path looks again
wanes
equal "pressed" 1 "$(word memory_pressure)"
[ "$(word dirty)" -le $((1 << 20)) ] || fail "$(word dirty) bytes kept"
cli explain -w 0 -p "$pid" >"$WORK/explained"
grep -q '^pressure: memory was short 1 time, ' "$WORK/explained" || fail "$(cat "$WORK/explained")"
equal "explained" 1 "$(cli explain -w 0 --format=json -p "$pid" | jq '.[0].pressures')"
cli events -p "$pid" --format=json |
	jq -e '[.[] | select(.event == "memory_pressure" and .bytes > 1000000)] | length == 1' \
	>/dev/null || fail "no event"
sleep 2.1
wanes
keeps "afterwards"
equal "once" 1 "$(word memory_pressure)"
finish

stalled 1000
begin
wanes
stalled 99001000
sleep 2.1
keeps "without the option"
equal "not looked at" 0 "$(word memory_pressure)"
finish
