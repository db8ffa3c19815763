#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A program of Go and C, whose runtime handles SIGSEGV itself, does the same with guards
# and without: nil dereferences are recovered in all goroutines, and those that are not,
# of Go or of C, end it with Go's message and status. A use after free in its C is told
# and the program goes on.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs go golang-go
needs gcc gcc
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

export GOCACHE="$WORK/cache" GO111MODULE=off GOFLAGS='' CGO_ENABLED=1 CC=gcc
go build -o "$WORK/recovers" "$top_srcdir/tests/guarded/recovers.go" >"$WORK/said" 2>&1 ||
	fail "go build: $(cat "$WORK/said")"
export KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=16 KONFISCATOR_GUARD_RATE=0

# ends HOW STATUS: as without the library; what it said is in out and err
ends() {
	status=0
	"$WORK/recovers" "$1" >"$WORK/out.without" 2>"$WORK/err.without" || status=$?
	equal "$1 without: status" "$2" "$status"
	rm -f "$WORK"/stats/*
	status=0
	KONFISCATOR_KEEP=1 run_under "$WORK/recovers" "$1" >"$WORK/out" 2>"$WORK/err" ||
		status=$?
	equal "$1: status" "$2" "$status"
	equal "$1: output" "$(cat "$WORK/out.without")" "$(cat "$WORK/out")"
	equal "$1: message" "$(sed 1q "$WORK/err.without")" \
		"$(grep -v '^konfiscator:' "$WORK/err" | sed 1q)"
	cli stat -a --format=json "$WORK"/stats/recovers.* >"$WORK/counts"
	guarded=$(jq '[.. | .guarded? // empty] | first' "$WORK/counts")
	[ "$guarded" -gt 10 ] || fail "$1: only $guarded blocks were guarded"
}

for how in plain dies dies-in-C; do
	status=0
	[ "$how" = plain ] || status=2
	ends "$how" "$status"
	! grep -q '^konfiscator:' "$WORK/err" || fail "$how: $(cat "$WORK/err")"
	grep -q '^400 runtime error: invalid memory address or nil pointer dereference$' \
		"$WORK/out" || fail "$how: $(cat "$WORK/out")"
done
ends misuse 0
grep -q '^konfiscator: use after free: read of 0x' "$WORK/err" ||
	fail "no report: $(cat "$WORK/err")"
cli post-mortem --format=json "$WORK"/stats/recovers.* |
	jq -e '.guard_reports[0] | .kind == "use after free" and
		(.done.stack | test("misused"))' >/dev/null || fail "no report is kept"
