#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A million random operations and more damage no block, in 1, 2 and 8 threads.
# A failure prints the options with which random.c does the same again.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

random=$top_builddir/tests/random/random

while read -r threads operations; do
	run_under "$random" --threads "$threads" --operations "$operations" \
		>"$WORK/out" || fail "$threads threads"
	cat "$WORK/out"
	grep -q "^$operations operations .* malloc of $KF_PRELOAD\$" \
		"$WORK/out" || fail "the library was not in the process"
done <<END
1 1000000
2 2000000
8 2000000
END
