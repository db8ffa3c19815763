# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What a test compares with a tracer's counts; follows tests/lib.sh and workdir.
#
#   observe DIRECTORY	look at its stats files, which are of processes of one
#			name, and at the exporter's page of them
#   column NAME		a column of them, all processes together
#   metric NAME		the sum of the samples of konfiscator_NAME
#   counted_events	prints a line for each probe whose events are counted:
#			the probe, its column and its metric
#   agree WHAT N COLUMN METRIC
#			fail unless the tracer's number N is the other two;
#			METRIC is - for a gauge, which ends with its process

if grep -q '^EXPORTER_TRUE *= *#' "$top_builddir/Makefile"; then
	echo "built --without-exporter: two observers are compared"
	exporter=
else
	exporter=yes
fi

observe() {
	"$KF_CLI" stat --all --dir="$1" --format=csv >"$WORK/stat"
	: >"$WORK/page"
	if [ -n "$exporter" ]; then
		"$KF_EXPORTER" --once --stats.dir="$1" >"$WORK/page"
	fi
}

column() {
	awk -F, -v name="$1" '
		NR == 1 {
			for (i = 1; i <= NF; i++)
				if ($i == name)
					at = i
		}
		NR == 2 && at { print $at }' "$WORK/stat"
}

metric() {
	awk -v name="konfiscator_$1" '
		{
			sample = $1
			sub(/\{.*/, "", sample)
		}
		sample == name { sum += $NF; nr++ }
		END { if (nr) printf "%.0f\n", sum }' "$WORK/page"
}

agree() {
	equal "$1: the tracer and the stats file" "$2" "$(column "$3")"
	if [ -n "$exporter" ] && [ "$4" != - ]; then
		equal "$1: the tracer and the exporter" "$2" "$(metric "$4")"
	fi
}

counted_events() {
	cat <<'END'
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
}
