#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With KONFISCATOR_REALTIME_ALLOW=1 quick calls in real-time mode are not counted. Calls
# that map memory are counted as system calls, those that are the first to write to a
# page as page faults, one for each page, and those that wait for another thread as lock
# waits, each with its caller. With the engine tlsf and a pool whose pages are there,
# blocks on pages that nobody has touched take nothing.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

program=${top_builddir:?}/tests/cli/tolls
export KONFISCATOR_REALTIME_ALLOW=1 KONFISCATOR_SAMPLE=0

# tolls HOW ENGINE: its calls are in told, its counters in counts
tolls() {
	rm -f "$WORK"/stats/*
	KONFISCATOR_ENGINE=$2 run_under "$program" "$1" </dev/null >"$WORK/said" 2>&1 ||
		fail "tolls $1 ended with $?: $(cat "$WORK/said")"
	cli realtime --format=json "$WORK"/stats/tolls.* >"$WORK/told" 2>"$WORK/err" ||
		fail "realtime ended with $?: $(cat "$WORK/err")"
	cli stat --format=json "$WORK"/stats/tolls.* >"$WORK/counts"
}

# calls FUNCTION WHY CALLER: how many
calls() {
	jq "[.[] | select(.function == \"$1\" and (.why | test(\"$2\")) and
		(.stack | test(\"^$3\"))) | .calls] | add // 0" "$WORK/told"
}

counter() {
	jq "[.. | .$1? // empty] | first" "$WORK/counts"
}

for engine in firstfit tlsf; do
	tolls quick "$engine"
	equal "$engine: quick" 0 "$(jq 'length' "$WORK/told")"
	equal "$engine: counted" 0 "$(counter realtime_calls)"
done
grep -q '^konfiscator: realtime: no thread in real-time mode made a call that is counted' \
	"$WORK/err" || fail "$(cat "$WORK/err")"

tolls maps firstfit
equal "mappings" 10 "$(calls malloc 'system call' maps_memory)"
equal "unmapped" 10 "$(calls free 'system call' maps_memory)"
equal "system calls" 20 "$(counter realtime_system_calls)"
equal "all" 20 "$(counter realtime_calls)"

# 4096 blocks of 1000 bytes, four in a page
tolls touches firstfit
faults=$(calls malloc 'page fault' touches_pages)
if [ "$(getconf PAGESIZE)" = 4096 ]; then
	[ "$faults" -ge 900 ] || fail "only $faults page faults"
	[ "$faults" -le 1100 ] || fail "$faults page faults"
fi
equal "page faults" "$faults" "$(counter realtime_faults)"
equal "waits" 0 "$(counter realtime_waits)"

KONFISCATOR_TLSF_INITIAL=16M KONFISCATOR_TLSF_PREFAULT=1 tolls touches tlsf
equal "prefault" 0 "$(counter realtime_calls)"

tolls waits tlsf
waits=$(calls malloc 'lock wait' waits_for_others)
[ "$waits" -gt 0 ] || fail "no wait is counted: $(cat "$WORK/told")"
[ "$(counter realtime_waits)" -ge "$waits" ] || fail "$(cat "$WORK/counts")"

status=0
KONFISCATOR_REALTIME_ABORT=1 KONFISCATOR_ENGINE=firstfit run_under "$program" maps \
	>"$WORK/said" 2>"$WORK/err" || status=$?
equal "status of the abort" 134 "$status"
grep -q '^konfiscator: real-time thread [0-9]* (control-1) called malloc for 104857600 bytes at 0x[0-9a-f]*, which made a system call' \
	"$WORK/err" || fail "$(cat "$WORK/err")"
