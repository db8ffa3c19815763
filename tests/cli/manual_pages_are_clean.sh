#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# mandoc has nothing to say of the pages, but for those not yet installed.
. "$top_srcdir/tests/lib.sh"
need "$MANDOC"
workdir

for page in "$top_builddir/doc/konfiscator.1" \
	"$top_builddir/doc/konfiscator.7"; do
	[ -s "$page" ] || fail "$page is empty"
	"$MANDOC" -Tlint "$page" >"$WORK/lint" 2>&1 || true
	if grep -v 'referenced manual not found\|outdated mandoc.db' \
		"$WORK/lint"; then
		fail "mandoc complains"
	fi
done
