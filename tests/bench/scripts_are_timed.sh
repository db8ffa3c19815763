#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# scripts.py times programs under the tracing scripts that it is asked for, and
# refuses those that are not there.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing

"$PYTHON3" "$top_srcdir/bench/scripts.py" --library "$KF_LIB" \
	--build "$top_builddir" --bpftrace "$BPFTRACE" --root none \
	--only frag --only sizes --rounds 1 --shorter 20 \
	--markdown "$WORK/md" || fail "it ended with $?"
for name in frag sizes; do
	grep -Eq "^\| $name \| [0-9.]+ \| [0-9.]+ \| - \| - \|$" "$WORK/md" ||
		fail "$name has no ratios: $(cat "$WORK/md")"
done

status=0
"$PYTHON3" "$top_srcdir/bench/scripts.py" --library "$KF_LIB" \
	--build "$top_builddir" --root none --only nothing 2>"$WORK/err" ||
	status=$?
equal "status for a script that is not there" 2 "$status"
grep -q 'no script is called nothing' "$WORK/err" || fail "$(cat "$WORK/err")"
