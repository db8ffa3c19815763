#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# glibc-malloc.bt makes the article's report of the marks in a C library's
# malloc: here a program fires them, in a known order.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing

TRACED=$WORK/marks
compile -o "$TRACED" "$top_srcdir/tests/scripts/marks.c"
traced "$top_srcdir/scripts/glibc/glibc-malloc.bt" "$TRACED"
sed 's/^[0-9]*:/TID:/; s/^\(	*\)[0-9][0-9]* ->/\1TID ->/; s/^	[0-9]*:/	TID:/
     /^Attaching/d; /^$/d' "$WORK/trace" >"$WORK/got"
cat >"$WORK/wanted" <<'END'
ready
TID: New heap
TID: Created new arena
TID: New heap
TID: failed to allocate on own arena, trying another
TID: New thresholds:: mmap: 270336 bytes, trim: 135168 bytes
Contention:
	TID: 17 waits
Active arenas:
	TID -> 0x7f0000000030
Allocated heaps:
	0x7f0000000000 -> 135168 bytes
Total sbrk: 540672 bytes
Mmap threshold in the end: 264 kb
END
diff "$WORK/wanted" "$WORK/got" || fail "this is not the report"
