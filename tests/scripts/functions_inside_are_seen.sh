#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who watches a function of the library's own from before a program's start sees
# it to the end: code that is given back when the start is over is as the file
# has it, and a breakpoint in it stays.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library
nm "$TRACED" | grep -q ' t kf_slab_make$' ||
	skip "the library has no symbol kf_slab_make"

cat >"$WORK/slabs.bt" <<'BT'
BEGIN { printf("ready\n"); }
usdt:$1:konfiscator:slab_new { @total["slab_new"] = count(); }
uprobe:$1:kf_slab_make { @total["kf_slab_make"] = count(); }
END { print(@total); clear(@total);
}
BT

traced "$WORK/slabs.bt" under_traced "$top_builddir/tests/scripts/events" 23 23
made=$(traced_total slab_new)
[ "$made" -ge 5 ] || fail "no more than $made slabs were made"
equal "slabs made, by the function" "$made" "$(traced_total kf_slab_make)"
