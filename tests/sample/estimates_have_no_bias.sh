#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Over 200 seeds the mean estimate of live bytes lies within 2 % of the truth
# for each site of a program; and so it does for small blocks that leak beside
# medium ones that come and go.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

: >"$WORK/found"
seed=0
while [ "$seed" -lt 200 ]; do
	seed=$((seed + 1))
	rm -f "$WORK/stats"/*
	KONFISCATOR_SAMPLE=8K KONFISCATOR_SAMPLE_SEED=$seed run_under \
		"$top_builddir/tests/sample/sites" >"$WORK/truth"
	"$top_builddir/tests/sample/stacks" "$WORK/stats"/* >>"$WORK/found"
done

# A site is known by the size of its blocks, which estimates give to a percent.
awk '
FNR == NR { truth[$1] = $2; sum += $2; next }
{
	for (size in truth)
		if ($1 > 0.98 * size && $1 < 1.02 * size)
			estimate[size] += $2 / 200
}
END {
	for (size in truth) {
		off = 100 * (estimate[size] / truth[size] - 1)
		printf "%7d bytes: %9d live, estimated %+.2f %%\n", size,
		       truth[size], off
		if (truth[size] < 0.05 * sum)
			continue
		looked_at++
		if (off > 2 || off < -2)
			wrong = 1
	}
	exit wrong || looked_at < 5
}' "$WORK/truth" "$WORK/found" || fail "an estimate is biased"

: >"$WORK/found"
for seed in $(seq 12); do
	rm -f "$WORK/stats"/*
	KONFISCATOR_SAMPLE=64K KONFISCATOR_SAMPLE_SEED=$seed run_under \
		"$top_builddir/tests/sample/mixed" >"$WORK/truth"
	"$top_builddir/tests/sample/stacks" "$WORK/stats"/* >>"$WORK/found"
done
awk '
FNR == NR { truth = $1; next }
$1 > 250 && $1 < 262 { estimate += $2 / 12 }
END {
	off = 100 * (estimate / truth - 1)
	printf "small beside medium: %d live, estimated %+.2f %%\n", truth, off
	exit off > 5 || off < -5
}' "$WORK/truth" "$WORK/found" || fail "small blocks beside medium ones are biased"
