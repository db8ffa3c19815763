#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bpftrace, the stats file and the exporter's page give the same count of every
# kind of event of one process, to the last event.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

# The stats file of a trace that was void is not to be counted.
job() {
	rm -rf "$WORK/stats"
	mkdir -m 0700 "$WORK/stats"
	under_traced "$@"
}

# watch SCRIPT [CMD...]: run the program under a script of this name; then $WORK/trace
# has what bpftrace saw, $WORK/stat what is in the stats file, $WORK/page the
# exporter's page
watch() {
	script=$top_srcdir/scripts/bpftrace/$1.bt
	shift
	[ $# -gt 0 ] || set -- "$top_builddir/tests/scripts/events" 23 23
	traced "$script" job "$@"
	"$KF_CLI" stat --all --dir="$WORK/stats" --format=csv >"$WORK/stat"
	equal "processes in the stats file" 2 "$(wc -l <"$WORK/stat" | tr -d ' ')"
	: >"$WORK/page"
	if [ -n "$exporter" ]; then
		"$KF_EXPORTER" --once --stats.dir="$WORK/stats" \
			>"$WORK/page"
	fi
}

# column NAME: a column of the one process in the stats file
column() {
	awk -F, -v name="$1" '
		NR == 1 {
			for (i = 1; i <= NF; i++)
				if ($i == name)
					at = i
		}
		NR == 2 && at { print $at }' "$WORK/stat"
}

# metric NAME: the sum of the samples of konfiscator_NAME
metric() {
	awk -v name="konfiscator_$1" '
		{
			sample = $1
			sub(/\{.*/, "", sample)
		}
		sample == name { sum += $NF; nr++ }
		END { if (nr) printf "%.0f\n", sum }' "$WORK/page"
}

# agree WHAT TRACED COLUMN METRIC: the three are equal; METRIC is - for a gauge,
# which ends with its process
agree() {
	equal "$1: bpftrace and the stats file" "$2" "$(column "$3")"
	if [ -n "$exporter" ] && [ "$4" != - ]; then
		equal "$1: bpftrace and the exporter" "$2" "$(metric "$4")"
	fi
}

if grep -q '^EXPORTER_TRUE *= *#' "$top_builddir/Makefile"; then
	echo "built --without-exporter: two observers are compared"
	exporter=
else
	exporter=yes
fi

watch konfiscator
alloc=$(traced_total alloc)
[ "$alloc" -ge $((6 * 23)) ] || fail "bpftrace saw $alloc allocations only"
equal "resized blocks" 23 "$(traced_total resize)"
equal "large blocks" 23 "$(traced_total large_alloc)"
while read -r event counter name; do
	agree "$event" "$(traced_total "$event")" "$counter" "$name"
done <<'END'
alloc mallocs malloc_total
release frees free_total
resize realloc_moved realloc_moved_total
memory_mmap_more mmaps mmap_total
memory_mmap_less munmaps munmap_total
memory_purge purges purges_total
free_list_search searches free_list_searches_total
free_list_split splits splits_total
defrag_coalesce coalesces coalesces_total
slab_new slabs_made slabs_total
slab_free slabs_freed slabs_freed_total
cache_fill cache_fills cache_fills_total
cache_flush cache_flushes cache_flushes_total
END

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
