#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every case of the conformance programs passes under the library, with the
# samples and guards that it has by default. Before that, the runner has to see a failing, a crashing and a hanging case.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
unset KONFISCATOR_SAMPLE

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
cd "${top_builddir:?}/tests/conformance"
failed=
for program in conformance conformance_cxx; do
	if [ ! -x "$program" ]; then
		[ "$program" = conformance_cxx ] || fail "$program is not built"
		echo "no C++ compiler: the cases of $program are left out"
		continue
	fi
	"./$program" --self-test --seconds 1 >"$WORK/self-test" 2>&1 ||
		fail "$program does not see failing cases:" \
			"$(cat "$WORK/self-test")"
	"./$program" --preload "$KF_PRELOAD" || failed="$failed $program"
done
[ -z "$failed" ] || fail "cases of$failed do not hold"
