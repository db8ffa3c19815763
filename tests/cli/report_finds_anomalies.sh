#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What cannot have happened is found, and nothing where all is in order: not in
# events of one tick, nor in frees of what was there before.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"

# anomalies: those of the script on stdin, one a line as "ANOMALY ADDRESS"
anomalies() {
	mkrecording "$WORK/rec"
	"$KF_CLI" --format=csv --no-header report --view=anomalies "$WORK/rec" |
		cut -d, -f2,3
}

equal "free before alloc" "free before alloc,0x1000" "$(anomalies <<-END
	from-start
	0 1 free 0x1000
	END
)"
equal "free of what was there before" "" "$(anomalies <<-END
	0 1 free 0x1000
	END
)"
equal "double free" "double free,0x1000" "$(anomalies <<-END
	0 1 malloc 0x1000 8
	0 2 free 0x1000
	1 3 free 0x1000
	END
)"
equal "double alloc" "alloc of a live block,0x1000" "$(anomalies <<-END
	0 1 malloc 0x1000 8
	1 2 malloc 0x1000 8
	1 3 free 0x1000
	END
)"
equal "overlaps" "overlap with a live block,0x1010
overlap with a live block,0xff8
overlap with a live block,0x10" "$(anomalies <<-END
	from-start
	0 1 malloc 0x1000 100
	1 2 malloc 0x1010 8
	1 3 malloc 0xff8 16
	1 4 malloc 0x100000 1
	1 5 malloc 0x8 1
	1 6 malloc 0x10 100000000
	1 7 free 0x1010
	1 8 malloc 0x2000 8
	END
)"
equal "realloc of a free block" "double free,0x1000" "$(anomalies <<-END
	from-start
	0 1 malloc 0x1000 8
	0 2 free 0x1000
	0 3 realloc_old 0x1000
	0 4 realloc 0x2000 8
	0 5 free 0x2000
	END
)"
equal "events of one tick" "" "$(anomalies <<-END
	from-start
	0 1 malloc 0x1000 8
	0 5 malloc 0x1000 8
	1 5 free 0x1000
	1 7 malloc 0x2000 8
	0 7 free 0x2000
	0 9 free 0x1000
	1 9 malloc 0x1000 8
	END
)"
equal "realloc in flight" "" "$(anomalies <"$top_srcdir/tests/cli/report.script")"

printf 'from-start\n0 1 malloc 0x1000 8\n' | mkrecording "$WORK/rec"
equal "none" "no anomalies" "$(report --view=anomalies "$WORK/rec")"
equal "summary's" 0 "$(figure anomalies "$WORK/rec")"
