#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With no option at all a program is sampled: when a signal ends it, the file
# that it leaves has its stacks, and what leaked is the first of them, in a
# forked child too. KONFISCATOR_SAMPLE=0 takes none. A program that ends well
# leaves no file, unless somebody asked for samples.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
unset KONFISCATOR_SAMPLE KONFISCATOR_KEEP

# paced HOW: run the program, which ends so; its file is $file, or ""
paced() {
	rm -f "$WORK/stats"/*
	run_under_exec "$top_builddir/tests/sample/paced" 0.2 1 "$1" \
		>"$WORK/truth" 2>"$WORK/said" &
	wait $! || true
	[ ! -s "$WORK/said" ] || fail "$1: it said '$(cat "$WORK/said")'"
	file=$(find "$WORK/stats" -name 'paced.*')
}

# value NAME: a number of $file
value() {
	"$KF_CLI" stat -a --format=json "$file" |
		sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" | head -n 1
}

for end in kill abort fork; do
	paced "$end"
	[ -n "$file" ] || fail "$end: there is no file"
	equal "$end: by default" 1 "$(value sample_default)"
	"$KF_CLI" --format=csv --no-header report --metric=live --view=top \
		"$file" >"$WORK/report" 2>"$WORK/notes" ||
		fail "$end: no report: $(cat "$WORK/notes")"
	head -n 1 "$WORK/report" | grep -q ',leak,' ||
		fail "$end: the first is not leak: $(head -n 3 "$WORK/report")"
done

export KONFISCATOR_SAMPLE=0
paced kill
equal "0: samples" 0 "$(value samples)"
equal "0: mean distance" 0 "$(value sample_mean)"
unset KONFISCATOR_SAMPLE

paced exit
equal "file after a normal end" "" "$file"
export KONFISCATOR_SAMPLE=1M
paced exit
[ -n "$file" ] || fail "the samples that were asked for are not there"
equal "1M: by default" 0 "$(value sample_default)"
equal "1M: mean distance" 1048576 "$(value sample_mean)"
