#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats file that is cut short under its writer hurts nobody.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
workdir

harm() {
	for file in "$KONFISCATOR_DIR"/*; do
		[ ! -f "$file" ] || : >"$file"
	done
}

same_result
set -- "$KONFISCATOR_DIR"/python3*
[ -f "$1" ] || fail "there was no file to cut"
for file in "$@"; do
	[ ! -s "$file" ] || fail "$file has come back"
done
