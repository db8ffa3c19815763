# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests of the benchmarks share: a suite of planted programs.
#
#   bench ARG...           run.py as make bench calls it
#   plant_suite            make $SUITE, a source and build tree without tests
#   plant_workload NAME    standard input becomes a workload of it
#   bench_planted ARG...   run.py on it, under glibc and the library

# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
[ "$PYTHON3" != none ] || skip "python3 is missing"

bench() {
	"$PYTHON3" "$top_srcdir/bench/run.py" "$@"
}

plant_suite() {
	SUITE=$WORK/planted
	mkdir -p "$SUITE/bench/workloads"
	cp "$top_builddir/bench/launch" "$SUITE/bench/"
	: >"$SUITE/suite.txt"
}

plant_workload() {
	{
		echo '#!/bin/sh'
		cat
	} >"$SUITE/bench/workloads/$1"
	chmod +x "$SUITE/bench/workloads/$1"
}

bench_planted() {
	bench --build "$SUITE" --source "$SUITE" --suite "$SUITE/suite.txt" \
		--library "$KF_LIB" --peers glibc,konfiscator --rounds 3 "$@"
}
