#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A limit on file sizes ends the stats file, not the program.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
workdir

limits() {
	ulimit -f 0
}

no_file
same_result
equal "files made" "" "$(ls "$KONFISCATOR_DIR")"

# Later: the file is there and cannot grow.
limits() { :; }
harm() {
	prlimit --fsize=0: --pid "$1"
}

need prlimit
rm -r "$WORK/with" "$WORK/without"
same_result
set -- "$KONFISCATOR_DIR"/python3*
[ -f "$1" ] || fail "no file was made before the limit"
