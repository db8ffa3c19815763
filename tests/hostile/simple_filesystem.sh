#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A file system that cannot set space aside holds the stats file as well.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
bury_usual_dirs
mount -t ramfs ramfs "$KONFISCATOR_DIR" 2>/dev/null ||
	skip "ramfs cannot be mounted"
at_exit "umount '$KONFISCATOR_DIR'"
if fallocate -l 4096 "$KONFISCATOR_DIR/probe" 2>/dev/null; then
	skip "ramfs sets space aside here, as others do"
fi
rm -f "$KONFISCATOR_DIR/probe"

same_result
"$KF_CLI" --format=json stat -a -n python3 >"$WORK/stat"
grep -q '"lost_slots": 0' "$WORK/stat" ||
	fail "the file was not made, or did not grow: $(cat "$WORK/stat")"
