#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every view and export of a small recording is what can be worked out by hand
# from its script.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"

cd "$WORK"
mkrecording rec <"$top_srcdir/tests/cli/report.script"
{
	for view in summary timeline top sizes threads lifetimes leaks latency \
		anomalies; do
		echo "== $view"
		report --view=$view rec
	done
	for format in log trace csv json massif; do
		echo "== $format"
		report --export=$format rec
	done
	echo "== summary, csv"
	report --format=csv rec
	echo "== threads, json"
	report --format=json --view=threads rec
	echo "== from 400ns to 700ns"
	report --bytes --from=0.0000004 --to=0.0000007 rec
	echo "== blocks of thread 11"
	report --view=top --thread=11 rec
	echo "== calls of calloc and free"
	report --export=csv --function=calloc,free rec
	echo "== sizes from 1K"
	report --view=leaks --size=1K- rec
} >got
diff "$top_srcdir/tests/cli/report.golden" got ||
	fail "the views differ from the golden text"

for how in --view=top --export=csv "-o none.log"; do
	# shellcheck disable=SC2086
	expect 3 "$KF_CLI" report $how --thread=nobody rec
	says "report: --thread: nothing in rec matches 'nobody'"
done
[ ! -e none.log ] || fail "there is an export of nothing"

for name in log csv json massif; do
	report -o "x.$name" rec
	report --export=$name rec >want
	cmp want "x.$name" || fail "-o x.$name is not --export=$name"
done
