#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every probe that a release had is still in the notes, by its name, with the
# sizes of its arguments; new ones are in notes.golden too, or this fails.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
need readelf
workdir

notes "$KF_LIB" | awk '{
	line = $1 " " $2
	for (i = 5; i <= NF; i++)
		line = line " " substr($i, 1, index($i, "@") - 1)
	print line
}' | sort -u >"$WORK/notes"
grep -v '^#' "$top_srcdir/tests/probes/notes.golden" | sort >"$WORK/golden"
diff "$WORK/golden" "$WORK/notes" ||
	fail "the library's probes (right) are not those of" \
		"tests/probes/notes.golden (left): add the line of a new probe" \
		"to the file; a line of the file must not go or change"
