#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# scaling.py --bpftrace counts the calls that write to shared cache lines: each
# search of the free runs is under the pages lock, and the remote words of slabs
# are written only where threads free other threads' blocks, for some blocks at a
# time.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing

"$PYTHON3" "$top_srcdir/bench/scaling.py" --library "$KF_LIB" \
	--build "$top_builddir" --bpftrace "$BPFTRACE" --peers konfiscator \
	--threads 4 --operations 1000000 >"$WORK/out" ||
	fail "it ended with $?: $(cat "$WORK/out")"
cat "$WORK/out"
"$PYTHON3" - "$WORK/out" <<'END'
import sys

names, rows = None, []
for line in open(sys.argv[1]):
    line = line.replace("pages lock", "pages-lock")
    if line.startswith("threads"):
        names = line.split()
    elif names and line.split()[:1] == ["4"]:
        rows.append(dict(zip(names, map(float, line.split()[:-1]))))
alone, crossed = rows
for row in rows:
    assert row["pages-lock"] >= row["searches"] > 0, row
    assert row["others"] >= 3, row  # each thread that is started
    assert row["map"] > 0, row
assert alone["words"] == alone["remote"] == 0, alone
assert 0 < crossed["words"] < crossed["remote"], crossed
END
