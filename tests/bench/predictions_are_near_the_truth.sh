#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# From one recording, konfiscator whatif predicts the peak RSS of perl and sqlite3
# under glibc, and each other allocator that is installed, to 10 %.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
needs perl perl
needs sqlite3 sqlite3

"$PYTHON3" "$top_srcdir/bench/whatif.py" --build "$top_builddir" \
	--library "$KF_LIB" --rounds 1 --only perl-hashes --only sqlite3-memory \
	--most 10 --markdown "$WORK/md" || fail "whatif.py ended with $?"
equal "rows" 2 "$(grep -c '^| \(perl-hashes\|sqlite3-memory\) ' "$WORK/md")"
grep -q "predictions: the error is .* in the median" "$WORK/md" ||
	fail "no summary: $(cat "$WORK/md")"

# an error that is too large is a failure
if "$PYTHON3" "$top_srcdir/bench/whatif.py" --build "$top_builddir" \
	--library "$KF_LIB" --rounds 1 --only sqlite3-memory --most 0; then
	fail "no error is larger than 0 %"
fi
