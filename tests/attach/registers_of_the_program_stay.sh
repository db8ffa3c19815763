#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A program that is interrupted to be attached goes on with all its registers,
# those of AVX-512 too, which gdb may not know of.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gdb gdb
workdir
export KF_GO="$WORK/go"

"$top_builddir/tests/attach/registers" >"$WORK/said" &
pid=$!
at_exit "kill $pid 2>/dev/null || :"
wait_for 60 grep -q . "$WORK/said"
grep -q ready "$WORK/said" || skip "this processor has no AVX"
for round in 1 2 3; do
	"$KF_CLI" attach "$pid" || fail "round $round: attach"
	"$KF_CLI" detach "$pid" || fail "round $round: detach"
done
: >"$KF_GO"
wait "$pid" || fail "$(tail -n 1 "$WORK/said")"
equal "registers" ok "$(tail -n 1 "$WORK/said")"
