#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bpftrace, the stats file and the exporter's page give the same count of every
# kind of event of one process, to the last event.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
# shellcheck source=tests/scripts/observers.sh
. "$top_srcdir/tests/scripts/observers.sh"
need_tracing
copy_library

# The stats file of a trace that was void is not to be counted.
job() {
	rm -rf "$WORK/stats"
	mkdir -m 0700 "$WORK/stats"
	under_traced "$@"
}

# watch SCRIPT [CMD...]: run the program under a script of this name; then
# $WORK/trace has what bpftrace saw
watch() {
	script=$top_srcdir/scripts/bpftrace/$1.bt
	shift
	[ $# -gt 0 ] || set -- "$top_builddir/tests/scripts/events" 23 23
	traced "$script" job "$@"
	observe "$WORK/stats"
	equal "processes in the stats file" 2 "$(wc -l <"$WORK/stat" | tr -d ' ')"
}

watch konfiscator
alloc=$(traced_total alloc)
[ "$alloc" -ge $((6 * 23)) ] || fail "bpftrace saw $alloc allocations only"
equal "resized blocks" 23 "$(traced_total resize)"
equal "large blocks" 23 "$(traced_total large_alloc)"
counted_events >"$WORK/events"
while read -r event counter name; do
	agree "$event" "$(traced_total "$event")" "$counter" "$name"
done <"$WORK/events"

watch frag
agree "runs merged" "$(traced_total merged)" defrags defrag_total
agree "nodes visited" "$(traced_total visited)" visited free_list_visited_total

watch mmap
agree "bytes mapped" $(($(traced_total more) - $(traced_total less))) \
	mapped -

watch malloc
agree "total mapped" \
	"$(sed -n 's/^Total mapped: \([0-9]*\) bytes$/\1/p' "$WORK/trace")" \
	mapped -
agree "arenas" "$(grep -c ': Created new arena$' "$WORK/trace")" arenas -
agree "heaps" "$(grep -c ': New heap$' "$WORK/trace")" heaps -
agree "mmap threshold" 303104 mmap_threshold -

# Whether threads have to wait is up to the scheduler; that it is told each
# time, and for how long, is not.
for _ in 1 2 3 4 5; do
	watch arenas "$top_builddir/tests/scripts/contend" 4 20000
	waits=$(traced_total wait)
	agree "waits for a lock" "$waits" lock_contended lock_contended_total
	equal "waits of all threads" "$waits" "$(awk '
		/^@waits_of_thread\[/ { n += $3 }
		END { print n + 0 }' "$WORK/trace")"
	[ "$waits" -eq 0 ] || break
done
if [ "$waits" -gt 0 ]; then
	[ "$(traced_total waited_ns)" -ge "$waits" ] ||
		fail "$waits waits took $(traced_total waited_ns) nanoseconds"
else
	echo "no thread had to wait"
fi
