#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/probes.md has every declared probe, with what the declaration says of it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
workdir

generate page >"$WORK/wanted"
grep -q '^### ' "$WORK/wanted" || fail "the generator writes no page"
sed '1,/^<!-- made by: /d' "$top_srcdir/doc/probes.md" >"$WORK/page"
diff "$WORK/page" "$WORK/wanted" ||
	fail "doc/probes.md (left) is not what is declared (right): let all" \
		"that follows its line '<!-- made by: ... -->' be the output" \
		"of 'awk -v mode=page -f probes/generate.awk" \
		"probes/konfiscator.d'"
