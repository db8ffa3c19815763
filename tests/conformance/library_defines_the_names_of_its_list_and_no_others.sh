#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library defines the names of exports.txt, unversioned, and of others only
# those konf_* that its public header declares.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
need nm
workdir

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
sed '/^#/d' "$top_srcdir/tests/conformance/exports.txt" | sort >"$WORK/wanted"
nm -D --defined-only "$KF_LIB" | awk '{ print $3 }' | sort >"$WORK/all"
grep -v '^konf_' "$WORK/all" >"$WORK/got"

lost=$(comm -23 "$WORK/wanted" "$WORK/got")
[ -z "$lost" ] || fail "not defined:" "$lost"
extra=$(comm -13 "$WORK/wanted" "$WORK/got")
[ -z "$extra" ] || fail "defined, but not in exports.txt:" "$extra"

header=$top_srcdir/include/konfiscator.h
grep '^konf_' "$WORK/all" >"$WORK/public" || :
while read -r name; do
	grep -qw -- "$name" "$header" ||
		fail "$name is defined, but $header does not declare it"
done <"$WORK/public"
equal "operators new" 8 "$(grep -c '^_Zn' "$WORK/got")"
equal "operators delete" 12 "$(grep -c '^_Zd' "$WORK/got")"
