#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the stats file says is what the program did: mallocs less frees are its
# live blocks, and the states of the heap add up to what is held.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

[ -e "$KF_LIB" ] || fail "$KF_LIB is not built"
"${top_builddir:?}/tests/invariants/invariants" --preload "$KF_PRELOAD"
