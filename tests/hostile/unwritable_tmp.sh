#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where nothing but the program's own directory can be written, it still runs.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
[ ! -d /run/konfiscator ] || bury /run/konfiscator
unset KONFISCATOR_DIR
mount -t tmpfs tmpfs "$WORK"
at_exit "umount '$WORK'"
mkdir "$TMPDIR"
mount --rbind /tmp /tmp
at_exit 'umount -l /tmp'
mount -o remount,bind,ro /tmp
if { : >/tmp/konfiscator-probe.$$; } 2>/dev/null; then
	rm -f /tmp/konfiscator-probe.$$
	fail "/tmp is still writable"
fi
# A directory of an earlier day is not writable either.
no_file
same_result
