#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# armed.py times paths with a probe armed and says how often it fires: alloc
# once a pair; every probe that it arms is one of the library's.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir

PYTHONPATH=$top_srcdir/bench "$PYTHON3" -B -c '
import armed
print("\n".join(p for _, _, probes in armed.ARMED for p in probes))
' >"$WORK/probes"
[ -s "$WORK/probes" ] || fail "no probe is armed"
while read -r probe; do
	grep -q "probe $probe(" "$top_srcdir/probes/konfiscator.d" ||
		fail "there is no probe $probe"
done <"$WORK/probes"

need_tracing
"$PYTHON3" "$top_srcdir/bench/armed.py" --library "$KF_LIB" \
	--build "$top_builddir" --bpftrace "$BPFTRACE" --only alloc \
	--rounds 1 --shorter 100 --markdown "$WORK/md" || fail "it ended with $?"
# The start of the program has some calls of its own; a tracer that does not end
# as it should has not said how often.
grep -Eq '^\| alloc \| fast \| (100[0-9]\.[0-9]*|\?) \|' "$WORK/md" ||
	fail "alloc did not fire once a pair"
