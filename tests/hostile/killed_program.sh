#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that is killed leaves a file that tells how far it came.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
workdir

harm() {
	kill -9 "$1"
}

one_run with "LD_PRELOAD=$KF_PRELOAD"
equal "status" "status 137" "$(cat "$WORK/with/status")"
"$KF_CLI" --dir "$KONFISCATOR_DIR" --format=json ls -n python3 >"$WORK/ls"
grep -q '"state": "dead"' "$WORK/ls" ||
	fail "the file of a dead process is not seen: $(cat "$WORK/ls")"
grep -q '"result": "ok"' "$WORK/ls" || fail "the file cannot be read"
"$KF_CLI" --dir "$KONFISCATOR_DIR" --format=json stat -a -n python3 >"$WORK/stat"
mallocs=$(sed -n 's/.*"mallocs": \([0-9]*\).*/\1/p' "$WORK/stat")
[ "${mallocs:-0}" -gt 300 ] || fail "it counted ${mallocs:-no} mallocs"
