#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A test that crashes, fails, hangs or lacks its program is a row that says so
# and has no part in any mean; the others go on, and the status tells.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
plant_suite

plant_workload works <<'END'
exit 0
END
plant_workload crashes <<'END'
if [ "$1" != prepare ] && [ -n "$LD_PRELOAD" ]; then
	echo before the end
	kill -SEGV $$
fi
END
plant_workload fails <<'END'
[ "$1" != prepare ] || exit 0
echo its reason >&2
exit 3
END
plant_workload unprepared <<'END'
[ "$1" != prepare ] || exit 4
END
plant_workload lacks <<'END'
# needs: kf-no-such-command kf-no-such-package
exit 5
END
cat >"$SUITE/suite.txt" <<'END'
works synthetic works
crashes synthetic crashes
fails real fails
unprepared real unprepared
lacks real lacks
unbuilt synthetic kf-no-such-program
END

row() {
	grep -qx "$1" "$WORK/out" || fail "no line '$1' in: $(cat "$WORK/out")"
}

status=0
bench_planted --json "$WORK/json" >"$WORK/out" || status=$?
equal "status where tests failed" 1 "$status"
row 'FAIL crashes under konfiscator: signal 11 (SIGSEGV): before the end'
row 'FAIL fails under glibc: exit status 3: its reason'
row 'FAIL fails under glibc again: exit status 3: its reason'
row 'FAIL fails under konfiscator: exit status 3: its reason'
row 'FAIL unprepared under glibc: prepare: exit status 4'
row 'SKIP lacks: kf-no-such-command missing (kf-no-such-package)'
row 'SKIP unbuilt: kf-no-such-program is not built'
row 'crashes  *[0-9.]* ±[0-9]*  *[0-9.]* ±[0-9]*  *FAIL  *-'
row 'glibc  *synthetic  *1 .*'
grep -q '^glibc  *real' "$WORK/out" && fail "a failed test is in a mean"

# What is saved shows the same again.
bench --load "$WORK/json" >"$WORK/again" || [ $? -eq 1 ]
diff "$WORK/out" "$WORK/again" || fail "--load shows something else"

# Skipped tests alone are no failure.
bench_planted --only works --only lacks >"$WORK/out" ||
	fail "a skipped test made the status $?"

plant_workload hangs <<'END'
[ "$1" = prepare ] || while :; do sleep 100; done
END
echo 'hangs synthetic hangs' >"$SUITE/suite.txt"
status=0
bench_planted --limit 1 >"$WORK/out" || status=$?
equal "status where a test hung" 1 "$status"
row 'FAIL hangs under glibc: not done after 1 s'
row 'FAIL hangs under konfiscator: not done after 1 s'
