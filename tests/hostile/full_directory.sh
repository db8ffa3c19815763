#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats directory without space hurts nobody: not at the start, not later.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
bury_usual_dirs
mount -t tmpfs -o size=64k tmpfs "$KONFISCATOR_DIR"
at_exit "umount '$KONFISCATOR_DIR'"

# Room for the first file, but not for all slots of the crowd.
same_result
set -- "$KONFISCATOR_DIR"/python3*
[ -f "$1" ] || fail "no file was made where there was room for one"
lost=$("$KF_CLI" --dir "$KONFISCATOR_DIR" --format=json stat -a |
	sed -n 's/.*"lost_slots": \([0-9]*\).*/\1/p')
[ "${lost:-0}" -gt 0 ] || fail "no slot was lost: the directory never was full"

# No room at all.
rm -rf "$WORK/with" "$WORK/without" "${KONFISCATOR_DIR:?}"/*
dd if=/dev/zero of="$KONFISCATOR_DIR/filler" bs=4k 2>/dev/null || :
no_file
same_result
set -- "$KONFISCATOR_DIR"/*
equal "what the full directory holds" "$KONFISCATOR_DIR/filler" "$*"
