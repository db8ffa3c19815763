#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While a command runs, the launcher reads the memory of the largest of its
# processes: what is freed at half of the time is not in the end, and in the mean by
# half. Private dirty pages and PSS are those of small programs, which run.py puts
# into tables of their own.
# The commands are expanded where they run.
# shellcheck disable=SC2016
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
needs perl perl
workdir
plant_suite
launch=$top_builddir/bench/launch

# The first of these is the child of a shell, which is smaller and lives longer.
cat >"$WORK/halves.sh" <<'END'
perl -e '
	$b = "x"; $b x= 96 << 20; select undef, undef, undef, 0.6;
	undef $b; select undef, undef, undef, 0.6'
sleep 0.2
exit 0
END
"$launch" -m "$WORK/log" 600 "" sh "$WORK/halves.sh" >"$WORK/out"
cat "$WORK/out"
grep -q ' exit 0$' "$WORK/out" || fail "the first line is another"
sed 1d "$WORK/out" >"$WORK/memory"
read -r mean end dirty pss <"$WORK/memory"
[ "$end" -lt 32768 ] || fail "$end KiB at the end, of which 96 MiB were freed"
[ "$mean" -gt "$((end + 8192))" ] || fail "$mean KiB in the mean, $end at the end"
[ "$mean" -lt 98304 ] || fail "$mean KiB in the mean, as if none were freed"
equal "private dirty pages, PSS of a large program" "- -" "$dirty $pss"

"$launch" -m "$WORK/log" 600 "" perl -e \
	'$b = "x"; $b x= 2 << 20; select undef, undef, undef, 0.6' >"$WORK/out"
sed 1d "$WORK/out" >"$WORK/memory"
read -r mean end dirty pss <"$WORK/memory"
if [ "$dirty" -lt 2048 ] || [ "$dirty" -gt "$pss" ] || [ "$pss" -gt 16384 ]; then
	fail "$dirty KiB are private and dirty, PSS is $pss"
fi
"$launch" "$WORK/log" 600 "" true >"$WORK/out"
equal "lines without -m" 1 "$(wc -l <"$WORK/out")"

plant_workload holds <<'END'
[ "$1" != prepare ] || exit 0
exec perl -e '$b = "x"; $b x= $ARGV[0] << 20; select undef, undef, undef, 0.3' "$1"
END
echo 'small synthetic holds 1' >"$SUITE/suite.txt"
echo 'large synthetic holds 24' >>"$SUITE/suite.txt"
bench_planted --json "$WORK/json" --rounds 2 >"$WORK/out" ||
	fail "a run failed: $(cat "$WORK/out")"
cat "$WORK/out"
equal "tests in each table" "Wall time, s: small large
User and system time, s: small large
Peak RSS, MiB: large
Mean RSS, MiB: large
RSS at the end, MiB: large
Private dirty pages, KiB, of tests below 8 MiB: small
PSS, KiB, of tests below 8 MiB: small" "$(awk '
	/:$/ { title = $0 }
	/^(small|large) / { tests[title] = tests[title] " " $1
		if (!told[title]++) order[++n] = title }
	END { for (i = 1; i <= n; i++) print order[i] tests[order[i]] }' \
	"$WORK/out")"
"$PYTHON3" - "$WORK/json" <<'END'
import json
import sys

small, large = (t["runs"] for t in json.load(open(sys.argv[1]))["tests"])
for peer in "glibc", "glibc again", "konfiscator":
    for figure in "mean", "end":
        assert len(large[peer][figure]) == 2, (peer, large)
    assert min(large[peer]["end"]) > 24 << 20, (peer, large)
    assert large[peer]["dirty"] == large[peer]["pss"] == [], (peer, large)
    for figure in "dirty", "pss":
        assert len(small[peer][figure]) == 2, (peer, small)
        assert min(small[peer][figure]) > 1 << 20, (peer, small)
END
