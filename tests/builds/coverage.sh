#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# coverage.sh SOURCE TEST...: builds SOURCE in ./coverage with gcov, runs the
# tests there, and prints which share of the lines of each directory of src/
# they reach. Fails below $COVERAGE_LEAST percent of all. coverage.c says how
# the counters come out of the processes.
#
# Tests of other things than what the code does when it runs are left out: its
# form, its speed, its packages. So are those that count instructions, hold the
# library's imports and sections to a list, link its objects themselves, or read
# the caller of malloc off the stack, all of which gcov changes. A test that fails
# is told and counts for the lines that it reached.
#
# ./coverage/lines.txt has the lines that nothing reached.
set -eu

source=$(cd "$1" && pwd)
shift
least=${COVERAGE_LEAST:-90}
[ "$#" -gt 0 ] || {
	echo "coverage.sh: there are no tests" >&2
	exit 2
}
for tool in gcc gcovr; do
	command -v "$tool" >/dev/null || {
		echo "make coverage: $tool is missing: install $tool" >&2
		exit 1
	}
done
left_out='^tests/(bench|lint|packaging|programs|speed|vm)/'
left_out="$left_out|library_defines_the_names|library_is_linked_for|loaded_libraries_are"
left_out="$left_out|library_builds_without_probes|_in_a_browser|_in_a_soak"
left_out="$left_out|registers_hold_the_arguments|told_by_caller|told_by_stack"

mkdir -p coverage/counters
cd coverage
chmod 0777 counters
flags="-g -O1 -fno-inline"
shared=$source/tests/builds/coverage
gcc -O2 -fPIC -DKF_COUNTERS_DIR="\"$PWD/counters\"" -c "$shared.c" \
	-o counters.o
[ -f Makefile ] || "$source/configure" -q CC=gcc --enable-coverage \
	--disable-static --without-web CFLAGS="$flags" CXXFLAGS="-g -O1" \
	LDFLAGS="-Wl,-T,$shared.ld -Wl,--wrap=__gcov_exit \
		-Wl,$PWD/counters.o -Wl,--build-id" LIBS=-lgcov >/dev/null
make -s -j2 all >build.log 2>&1 || {
	tail -n 30 build.log
	exit 1
}

# The counters of what was built before are of no use.
find . -name '*.gcda' -exec rm -f {} +
rm -f counters/*
wanted=$(printf '%s\n' "$@" | grep -Ev "$left_out" | tr '\n' ' ')
make -k -j2 check TESTS="$wanted" >check.log 2>&1 </dev/null || true
sed -n 's/^# \(TOTAL\|PASS\|FAIL\|SKIP\|ERROR\): */\1 /p' check.log |
	tr '\n' ' '
echo
grep -E '^(FAIL|ERROR):? ' check.log | sort -u || true

# Each image that ran writes what was counted in it.
for image in .libs/*.so; do
	env LD_PRELOAD="$PWD/$image" KF_COVERAGE_WRITE=1 true
done
for image in konfiscator konfiscator_exporter tests/unit/*/test-* \
	tests/fuzz/fuzz-* tests/fixture/mkstats tests/fixture/mkrecording; do
	[ ! -f "$image" ] || [ ! -x "$image" ] ||
		KF_COVERAGE_WRITE=1 "./$image" </dev/null
done

gcovr -r "$source" --object-directory . --filter "$source/src/" -j 2 \
	--csv files.csv --txt lines.txt . >gcovr.log 2>&1 || {
	cat gcovr.log
	exit 1
}
awk -F, -v least="$least" '
NR == 1 { next }
{
	split($1, part, "/")
	dir = part[1] "/" part[2]
	lines[dir] += $2
	reached[dir] += $3
	all += $2
	hit += $3
}
END {
	for (dir in lines)
		printf "%-12s %6d of %6d lines  %5.1f %%\n", dir, reached[dir],
		       lines[dir], 100 * reached[dir] / lines[dir] | "sort"
	close("sort")
	if (!all)
		exit 1
	printf "%-12s %6d of %6d lines  %5.1f %%\n", "all of src", hit, all,
	       100 * hit / all
	exit 100 * hit < least * all
}' files.csv || {
	echo "coverage: less than $least % of src/ is reached" >&2
	exit 1
}
