#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The rules of doc/explain.md that need no running process, each on both sides
# of its threshold, by files with known counters.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
. "$top_srcdir/tests/cli/cli.sh"

# judged VERDICT COUNTER=N...: what is said of a process that has gone
judged() {
	kf_want=$1
	shift
	mkstats "$WORK/stats/x.1.y" comm=x "$@"
	cli explain --format=json "$WORK/stats/x.1.y" >"$WORK/out" ||
		fail "explain: $*"
	equal "$*" "$kf_want" "$(jq -r '.[0].verdict' "$WORK/out")"
}

# why TEXT: of the last verdict
why() {
	jq -r '.[0].why' "$WORK/out" | grep -qF -e "$1" ||
		fail "not '$1' but $(jq -r '.[0].why' "$WORK/out")"
}

m=1048576
large="mapped=$((64 * m)) large=$((64 * m)) large_allocated=$((64 * m))"

# the last quarter of a life of a second or more, near the peak
# shellcheck disable=SC2086 # words
{
	judged growth $large seen_at=100000 grown_at=75000
	why "the heap grew to 64.0Mi: by its last sixteenth after 75.0 s of the 100.0 s that its file covers"
	why "whether this is a leak is not known"
	judged "never freed" $large seen_at=100000 grown_at=74000
	why "the heap grew by its last sixteenth after 74.0 s of 100.0 s"
	judged growth $large seen_at=1000 grown_at=1000
	judged "never freed" $large seen_at=999 grown_at=999
	why "whether it grew until then is not known"
	judged "never freed" $large
	why "the program held 64.0Mi at its end, in 0 blocks that were never freed, 100% of the 64.0Mi allocated; whether it still used them is not known; whether it grew until then is not known"
	judged growth $large seen_at=9000 grown_at=9000 peak_held=$((73 * m))
	judged "never freed" $large seen_at=9000 grown_at=9000 peak_held=$((74 * m))
}

# half of what was allocated, and 64 KiB; a forked child's part is not known
judged "never freed" mapped=$((128 * 1024)) blocks=1024:100:36
why "the program held 64.0Ki at its end, in 64 blocks that were never freed, 64% of the 100.0Ki allocated"
judged "in use" mapped=$((128 * 1024)) blocks=1024:100:37
why "the program held 63.0Ki at its end, in 63 blocks that were never freed, 63% of the 100.0Ki allocated"
judged "never freed" mapped=$((128 * 1024)) blocks=1024:200:100
judged "in use" mapped=$((128 * 1024)) blocks=1024:200:101
judged "in use" mapped=$((128 * 1024)) blocks=1024:10:0:0:0:90
why "the program held 100.0Ki at its end, in 100 blocks that were never freed; whether"

# threads without counters
# shellcheck disable=SC2086 # words
mkstats "$WORK/stats/x.1.y" comm=x $large lost_slots=7
cli explain "$WORK/stats/x.1.y" >"$WORK/out"
grep -qF "not known: the allocations of 7 threads: the stats file had no room for their counters" "$WORK/out" ||
	fail "threads that are not counted are not told"

# what is not known of the dead, whatever the verdict
# shellcheck disable=SC2086 # words
{
	mkstats "$WORK/stats/x.1.y" comm=x $large seen_at=2700 grown_at=2700
	cli explain "$WORK/stats/x.1.y" >"$WORK/out"
	grep -qF "not known: how long the process lived after its last" \
		"$WORK/out" || fail "a life of unknown length is not told"
	mkstats "$WORK/stats/x.1.y" comm=x $large seen_at=100000 grown_at=100
	cli explain "$WORK/stats/x.1.y" >"$WORK/out"
	grep -qF "not known: whether the process leaked" "$WORK/out" ||
		fail "it is not told that a leak is not known"
	! grep -q "ctl" "$WORK/out" || fail "a dead process is to be told things"
}

# a third of the heap, and 256 KiB
slabs="mapped=$((3 * m)) slabs=$((3 * m)) carved=$((3 * m))"
# shellcheck disable=SC2086
{
	judged fragmentation $slabs blocks=1024:2048:0
	why "1.00Mi of the heap's 3.00Mi (33%) are free blocks in pages that live blocks keep"
	judged "never freed" $slabs blocks=1024:2050:0
	judged fragmentation mapped=$((m / 4)) slabs=$((m / 4)) \
		carved=$((m / 4))
	judged "in use" mapped=$((m / 4)) slabs=$((m / 4)) \
		carved=$((m / 4)) blocks=1024:1:0
	# it goes before growth
	judged fragmentation $slabs seen_at=9000 grown_at=9000
}

# each live block keeps a slab at most: half of what is free in others decides
# shellcheck disable=SC2086
{
	judged fragmentation $slabs blocks=1024:25:0:3072:48
	judged waiting $slabs blocks=1024:24:0:3072:48
	why "1.50Mi of the heap's 3.00Mi (50%) are free memory in the heaps of threads that sleep"
	judged waiting $slabs blocks=1024:8:8:3072:48
	why "these threads give the rest back when they allocate or free"
}

# the larger part of what is free decides; what was given back is no part
judged cache mapped=$((5 * m)) slabs=$((3 * m)) carved=$m \
	blocks=1024:1024:0 free_runs=$((2 * m)) dirty=$((2 * m))
why "2.00Mi of the heap's 3.00Mi (67%) are free pages kept for later allocations"
judged fragmentation mapped=$((5 * m)) slabs=$((3 * m)) carved=$((3 * m)) \
	free_runs=$((2 * m)) dirty=$((2 * m))
judged "never freed" mapped=$((9 * m)) slabs=$m carved=$m blocks=1024:1024:0 \
	free_runs=$((8 * m)) purged=$((8 * m))
