#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every engine passes the cases of the contract, as glibc's malloc does.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"

engines >"$WORK/engines"
cd "${top_builddir:?}/tests/engine"
./contract >"$WORK/glibc" || fail "not so in glibc: $(cat "$WORK/glibc")"
nr=$(grep -c '^ok ' "$WORK/glibc")
[ "$nr" -ge 31 ] || fail "there are only $nr cases"

failed=
while read -r engine; do
	echo "# $engine"
	KONFISCATOR_ENGINE=$engine ./contract --preload "$KF_PRELOAD" \
		>"$WORK/out" 2>"$WORK/err" || failed="$failed $engine"
	grep -v '^ok ' "$WORK/out" || :
	cat "$WORK/err"
	equal "cases under $engine" "$nr" "$(grep -c 'ok [0-9]' "$WORK/out")"
	! grep '^konfiscator:' "$WORK/err" || failed="$failed $engine"
done <"$WORK/engines"
[ -z "$failed" ] || fail "cases of$failed do not hold"
