#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A set-id program runs, makes no file where the environment says, and takes no
# option from there; started plainly, the same program does both.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

[ "$(id -u)" = 0 ] || skip "only root can give a program to another group"
[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
program=$WORK/kf_set_id
# shellcheck disable=SC2086 # the compiler may have arguments
${CC:-cc} -D_GNU_SOURCE -o "$program" \
	"$top_srcdir/tests/conformance/set_id.c" "$KF_LIB" \
	-Wl,-rpath,"${KF_LIB%/*}" -ldl || fail "set_id.c cannot be linked"
at_exit 'rm -f /run/konfiscator/kf_set_id.* /tmp/konfiscator-stats-*/kf_set_id.*'
KONFISCATOR_MMAP_THRESHOLD=nonsense
MALLOC_ARENA_MAX=nothing
export KONFISCATOR_MMAP_THRESHOLD MALLOC_ARENA_MAX

equal "answer of the plain program" plain "$("$program" 2>"$WORK/plain")"
ls "$KONFISCATOR_DIR"/kf_set_id.* >"$WORK/files" ||
	fail "the plain program made no file in KONFISCATOR_DIR"
grep -q nonsense "$WORK/plain" ||
	fail "the plain program did not name its bad option"
grep -q nothing "$WORK/plain" ||
	fail "the plain program did not name glibc's bad option"
rm -f "$KONFISCATOR_DIR"/kf_set_id.*

chgrp 65534 "$program"
chmod 2755 "$program"
answer=$("$program" 2>"$WORK/secure") || fail "the set-id program failed:" \
	"status $?, $(cat "$WORK/secure")"
[ "$answer" = secure ] || skip "$WORK is on a file system without set-id"
[ ! -s "$WORK/secure" ] || fail "the set-id program said" \
	"$(cat "$WORK/secure")"
for file in "$KONFISCATOR_DIR"/*; do
	[ ! -e "$file" ] || fail "the set-id program made $file"
done
