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

# history FROM TO STEP FIRST GROWTH: moments from FROM to TO ms, each STEP ms,
# of FIRST bytes and GROWTH more each time
history() {
	awk -v from="$1" -v to="$2" -v step="$3" -v at="$4" -v more="$5" 'BEGIN {
		for (; from <= to; from += step) {
			printf "moment=%d:%d ", from, at
			at += more
		}
	}'
}

# what rose through the last minutes of its history, of ten seconds or more, is
# a leak; what is level is not, and each verdict tells the history
# shellcheck disable=SC2046,SC2086 # words
{
	judged leak $large seen_at=40000 grown_at=40000 \
		$(history 1 39000 1000 $((25 * m)) $m)
	why "the memory in use grew by 39.0Mi in the last 40.0 s of its file, to 64.0Mi; the lows of each quarter were higher, and the heap was never larger before"
	equal "seconds" "39.999 40894464" \
		"$(jq -r '.[0] | "\(.history_seconds) \(.grown_bytes)"' "$WORK/out")"
	judged growth $large seen_at=9900 grown_at=9900 \
		$(history 1 9500 250 $((25 * m)) $m)
	why "whether this is a leak is not known; in the last 9.9 s of its file the memory in use went from 25.0Mi to 64.0Mi"
	judged leak $large seen_at=10001 grown_at=10001 \
		$(history 1 9500 250 $((25 * m)) $m)
	judged "never freed" $large seen_at=40000 grown_at=1000 \
		$(history 1 39000 1000 $((63 * m)) 0)
	why "in the last 40.0 s of its file the memory in use stayed between 63.0Mi and 64.0Mi"
	# the heap was larger before
	judged "never freed" $large peak_held=$((90 * m)) seen_at=40000 \
		grown_at=1000 moment=1:$((20 * m)):$((90 * m)) \
		$(history 1000 39000 1000 $((25 * m)) $m)
	# a step is no leak
	judged growth $large seen_at=40000 grown_at=31000 \
		$(history 1 19000 1000 $((25 * m)) 0) \
		$(history 20000 39000 1000 $((64 * m)) 0)
	# ten minutes count, where there are more
	judged "never freed" $large seen_at=7200000 grown_at=1000 \
		$(history 1 6500000 200000 $((25 * m)) $m) \
		$(history 6600000 7190000 20000 $((64 * m)) 0)
	why "in the last 600.0 s of its file the memory in use stayed between 64.0Mi and 64.0Mi"
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
