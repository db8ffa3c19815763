#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The same cases under the malloc of the C library, compared with what glibc
# 2.36 was seen to do. Other versions may differ, so that the comparison is
# printed and decides nothing; the test fails where the cases cannot be run.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

known=$(cd "$top_srcdir" && pwd)/tests/conformance/glibc-deviations.txt
cd "${top_builddir:?}/tests/conformance"

for program in conformance conformance_cxx; do
	[ -x "$program" ] || continue
	"./$program" >>"$WORK/answers" || :
done
grep '^# .* cases: ' "$WORK/answers" || fail "no case was run"
sed -n 's/^not ok [0-9]* - \([a-z0-9_]*\).*/\1/p' "$WORK/answers" |
	sort >"$WORK/seen"
sed 's/[ 	]*#.*//; /^$/d' "$known" | sort >"$WORK/expected"

echo "cases that this C library fails: $(wc -l <"$WORK/seen")"
comm -23 "$WORK/seen" "$WORK/expected" |
	sed 's/^/  fails, not known of glibc 2.36: /'
comm -13 "$WORK/seen" "$WORK/expected" |
	sed 's/^/  passes, but glibc 2.36 failed: /'

# A name that no case has any more would hide a later deviation.
[ -x conformance_cxx ] || exit 0
sed -n 's/^\(not \)\{0,1\}ok [0-9]* - \([a-z0-9_]*\).*/\2/p' "$WORK/answers" |
	sort >"$WORK/names"
comm -13 "$WORK/names" "$WORK/expected" >"$WORK/stale"
[ ! -s "$WORK/stale" ] ||
	fail "glibc-deviations.txt names no case: $(cat "$WORK/stale")"
