#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Medians, spreads, ratios and means of recorded runs are those calculated by
# hand: konfiscator to glibc is 0.75/3, 4/1 and 1.06/1, so that the geometric
# mean of the first two is 1 and of all (1.06)^(1/3) = 1.020; quartiles of
# 1 2 3 4 5 are 2 and 4, 67 % of 3. What failed is in no mean. In those of memory
# is what needs 8 MiB under glibc: 8/16 and 64/8, which is 2, but not 1/1. glibc's
# second copy takes 1.1, 0.95 and 1 of the first's time: (1.045)^(1/3) = 1.015, 5 %
# in the median and 10 % at most. The best but konfiscator are 1.5 (alpha), 1 and 1:
# to them it is 0.5, 4 and 1.06, in the mean (2.12)^(1/3) = 1.285, and they are
# (0.5)^(1/3) = 0.794 of glibc. Mean RSS is 4/8 and 64/8 of glibc, 2 in the mean, and
# 4/16 and 64/16 of alpha, 1 in the mean; at the end it is 8/4 and 8/2. What needs less
# than 8 MiB has 150/100 KiB of private dirty pages and 400/200 of PSS.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir

recorded=$top_srcdir/tests/bench/recorded.json
status=0
bench --load "$recorded" --markdown "$WORK/md" >"$WORK/out" || status=$?
equal "status where a test failed" 1 "$status"
diff -u "$top_srcdir/tests/bench/recorded.golden" "$WORK/out" ||
	fail "the tables differ from the recorded ones"

# Every row of a table of the markdown has as many cells as its head.
awk -F'|' '/^\|/ { n += nr && NF != nr; nr = NF; next } { nr = 0 }
	END { exit n > 0 }' "$WORK/md" || fail "ragged markdown"
grep -q '^| two | 1.000 ±0 | 0.95 ±0 | FAIL | 4.00 ±0 | 4.00 glibc |$' "$WORK/md" ||
	fail "the markdown lacks a row"

# Results without a second copy of the reference, as older ones.
"$PYTHON3" - "$recorded" "$WORK/old.json" <<'END'
import json, sys
data = json.load(open(sys.argv[1]))
del data["again"]
for test in data["tests"]:
    test.get("runs", {}).pop("glibc again", None)
json.dump(data, open(sys.argv[2], "w"))
END
bench --load "$WORK/old.json" >"$WORK/old" || [ $? -eq 1 ]
if grep -Eq 'glibc again|^Noise' "$WORK/old"; then
	fail "a second copy in: $(cat "$WORK/old")"
fi
grep -q '^two  *1.000 ±0  *FAIL  *4.00 ±0  *4.00 glibc$' "$WORK/old" ||
	fail "no row of two in: $(cat "$WORK/old")"

# A part of it, without the test that failed.
bench --load "$recorded" --group real >"$WORK/real"
grep -q '^glibc .* real .* 1  1.060 .* 0.500 .* 8.000 of 1$' "$WORK/real" ||
	fail "the mean of the real programs is another"
if grep -q '^one' "$WORK/real"; then
	fail "--group real shows a synthetic test"
fi

# Twice the time in every run of the library: the mean of changes is 2.
"$PYTHON3" - "$recorded" "$WORK/new.json" <<'END'
import json, sys
data = json.load(open(sys.argv[1]))
for test in data["tests"]:
    for peer, run in test.get("runs", {}).items():
        if peer == "konfiscator":
            run["wall"] = [2 * w for w in run["wall"]]
json.dump(data, open(sys.argv[2], "w"))
END
bench --compare "$recorded" "$WORK/new.json" >"$WORK/changes"
grep -q '^one  *0.25  *0.50  *2.00  *0.50  *0.50  *1.00$' "$WORK/changes" ||
	fail "the change of a test is another: $(cat "$WORK/changes")"
grep -q '^geometric mean  *2.000  *1.000$' "$WORK/changes" ||
	fail "the mean of the changes is another: $(cat "$WORK/changes")"

# Of 15 values the true median lies between the fourth and the twelfth with
# 96.5 %, of 6 between the ends with 96.9 %: tables of the sign test say so.
"$PYTHON3" -B - "$top_srcdir/bench" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from results import middle
assert middle(range(15, 0, -1)) == (8, 4, 12), middle(range(15, 0, -1))
assert middle([5, 1, 4, 2, 6, 3]) == (3.5, 1, 6)
assert middle([7]) == (7, 7, 7)
END

# Refusals name the thing and the value.
for wrong in "--load $WORK/nothing.json" "--load $WORK/out" \
	"--load $recorded --only nosuch" "--rounds 0" "--peer x" \
	"--peers glibc,nosuch" "--library $WORK/nothing.so" \
	"--load $recorded --plot $WORK/plot.png"; do
	status=0
	# Words on purpose: options and their values.
	# shellcheck disable=SC2086
	bench $wrong >/dev/null 2>"$WORK/err" || status=$?
	equal "status of $wrong" 2 "$status"
	[ -s "$WORK/err" ] || fail "$wrong is refused without a word"
	grep -q Traceback "$WORK/err" && fail "$wrong: $(cat "$WORK/err")"
done
exit 0
