#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random operations damage no block under any engine, in 1 and in 4 threads.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/engine/engines.sh
. "$top_srcdir/tests/engine/engines.sh"

random=$top_builddir/tests/random/random
engines >"$WORK/engines"
while read -r engine; do
	operations=200000
	case $engine in
	# It takes next to nothing back.
	*/example.so) operations=20000 ;;
	esac
	for threads in 1 4; do
		KONFISCATOR_ENGINE=$engine run_under "$random" \
			--threads "$threads" --operations "$operations" \
			>"$WORK/out" 2>"$WORK/err" ||
			fail "$engine, $threads threads: $(cat "$WORK/err")"
		cat "$WORK/out"
		grep -q "^$operations operations .* malloc of $KF_PRELOAD\$" \
			"$WORK/out" || fail "the library was not there"
		! grep '^konfiscator:.*default' "$WORK/err" ||
			fail "$engine did not serve"
	done
done <"$WORK/engines"
