#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Threads that come and go, and forks among threads that allocate: every case
# passes under the library, none hangs.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
"${top_builddir:?}/tests/threads/threads" --preload "$KF_PRELOAD"
