#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whatever a program has as the action for SIGSEGV, it sees that action alone,
# and its faults reach it with the mask, the flags, the stack and the facts that
# they have without the library; without an action it ends in the same way.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

handlers=${top_builddir:?}/tests/guarded/handlers

KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=16 KONFISCATOR_GUARD_RATE=0
export KONFISCATOR_SAMPLE KONFISCATOR_GUARD_SLOTS KONFISCATOR_GUARD_RATE

prlimit --core=0 "$handlers" >"$WORK/without"
env LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 "$handlers" >"$WORK/with" \
	2>"$WORK/err"
diff -u "$WORK/without" "$WORK/with" || fail "the program sees another action"
[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
[ "$("$KF_CLI" stat --format=json "$WORK"/stats/handlers.* |
	grep -o '"guarded": *[0-9]*' | tail -n 1 | tr -dc 0-9)" -gt 10 ] ||
	fail "no blocks were guarded"

# A fault in a guard is found whoever blocks the signal.
status=0
env LD_PRELOAD="$KF_PRELOAD" "${top_builddir:?}/tests/guarded/blocked" \
	>"$WORK/out" 2>"$WORK/err" || status=$?
equal "status of blocked" 0 "$status"
equal "output of blocked" "blocked: USR1 1 TERM 1
in a handler
in a child: 0" "$(cat "$WORK/out")"
[ "$(grep -c '^konfiscator: use after free: read of' "$WORK/err")" -ge 20 ] ||
	fail "too few reports: $(cat "$WORK/err")"
