#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that allocates as fast as it can has a bounded number of samples by
# default, in one thread and in four, and what they estimate is what it
# allocated, within the error that they tell. At a distance that was set there
# are as many as there have to be.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
unset KONFISCATOR_SAMPLE

# 256 a second, and 64 for each doubling until the rate is reached.
most=$((3 * 256 + 64 * 16))

# paced THREADS: run the program; its file is $file
paced() {
	rm -f "$WORK/stats"/*
	run_under "$top_builddir/tests/sample/paced" 2 "$1" exit \
		>"$WORK/truth" || fail "$1 threads: it ended with $?"
	file=$(find "$WORK/stats" -name 'paced.*')
}

# value NAME: a number of $file
value() {
	"$KF_CLI" stat -a --format=json "$file" |
		sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" | head -n 1
}

for threads in 1 4; do
	paced "$threads"
	samples=$(value samples)
	echo "$threads threads: $samples samples, mean $(value sample_mean)," \
		"$(tr '\n' ' ' <"$WORK/truth")"
	[ "$samples" -le "$most" ] || fail "$threads threads: $samples samples"
	[ "$samples" -ge 64 ] || fail "$threads threads: only $samples samples"
	[ "$(value sample_mean)" -gt 1048576 ] ||
		fail "$threads threads: the distance did not grow"
	# The error of one in 20 times; of one in millions: 5 / 1.96 of it. A
	# few samples do not tell their error.
	"$KF_CLI" --format=csv --no-header --bytes report --metric=alloc \
		--view=top "$file" >"$WORK/report" 2>/dev/null
	awk -F, '
	FNR == NR { split($0, word, " "); truth[word[1]] = word[2]; next }
	$6 in truth && $5 >= 30 {
		seen++
		off = $1 - truth[$6]
		off = off < 0 ? -off : off
		print $6, "estimated", $1, "+-", $2, "is", truth[$6]
		if (off > 5 / 1.96 * $2)
			wrong = 1
	}
	END { exit wrong || seen < 2 }' "$WORK/truth" "$WORK/report" ||
		fail "$threads threads: wrong estimate: $(cat "$WORK/report")"
done

export KONFISCATOR_SAMPLE=1M
paced 1
[ "$(value samples)" -gt "$most" ] ||
	fail "only $(value samples) samples at a distance that was set"
equal "mean distance" 1048576 "$(value sample_mean)"
