#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Commands that look at a process without the library say in one line how it is
# brought in, and --attach does it first. Samples that attach asks for are taken
# from the first call on. Blocks from before the attach are said to be not known,
# and their memory is not called another one's.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
needs jq jq
workdir

worker ""
for command in "record -o $WORK/profile" "explain -w 0" "top --batch=1"; do
	status=0
	# shellcheck disable=SC2086 # a list
	"$KF_CLI" $command -p "$worker" >"$WORK/out" 2>"$WORK/err" || status=$?
	equal "$command: status" 3 "$status"
	equal "$command: lines" 1 "$(wc -l <"$WORK/err")"
	grep -q "'konfiscator attach $worker' loads it" "$WORK/err" ||
		fail "$command: $(cat "$WORK/err")"
done

tell_ok "hold 90000"
"$KF_CLI" explain --attach -w 0 -p "$worker" >"$WORK/why" 2>"$WORK/err" ||
	fail "explain --attach: $(cat "$WORK/err")"
grep -q "^attached process $worker (worker) in" "$WORK/err" ||
	fail "explain --attach: $(cat "$WORK/err")"
head -1 "$WORK/why" | grep -q ": in use$" ||
	fail "blocks from before are called $(head -1 "$WORK/why")"
grep -q "; blocks from before the attach count as not the heap$" "$WORK/why" ||
	fail "explain --attach does not say what it does not know"
grep -q '^peak of held memory  *-  *-' "$WORK/why" ||
	fail "explain --attach knows a peak: $(cat "$WORK/why")"
"$KF_CLI" detach "$worker" >"$WORK/out" || fail "detach failed"
grep -q "^detached process $worker (worker) in" "$WORK/out" ||
	fail "detach: $(cat "$WORK/out")"
! "$KF_CLI" explain -w 0 -p "$worker" 2>"$WORK/err" ||
	fail "a detached process is explained"
grep -q "it was detached ('konfiscator attach $worker' attaches it again)" \
	"$WORK/err" || fail "explain after detach: $(cat "$WORK/err")"

"$KF_CLI" attach -q --sample=1K "$worker" || fail "attach --sample failed"
tell_ok "hold 2000"
counters "$worker" "$WORK/a"
[ "$(jq '.[0].samples' "$WORK/a")" -gt 50 ] || fail "too few samples"
equal "blocks held" true "$(jq '.[0].live_blocks >= 2000' "$WORK/a")"
"$KF_CLI" explain -w 0 -p "$worker" >"$WORK/out" || fail "explain failed"
grep -q hold "$WORK/out" || fail "explain names no function that holds blocks"
tell_ok drop
counters "$worker" "$WORK/b"
grew live_blocks -2000 "$WORK/a" "$WORK/b"
equal "samples live" true "$(jq '.[0].sample_live < 100000' "$WORK/b")"
leave
