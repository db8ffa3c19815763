/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of a process' heap: see heap-map.h.
 */
#include "reader/heap-map.h"

#include "base/saturate.h"

#include <stdlib.h>

/* No process has more; so that the sum of all cells never wraps. */
#define CELL_MOST ((uint64_t)1 << 47)

static uint64_t map_cell_bytes(const struct kf_stats_cell *c)
{
	return c->used + c->free + c->dirty + c->absent;
}

static bool cell_holds(const struct kf_stats_cell *c)
{
	return c->region && c->begin && c->begin <= KF_MOST &&
	       c->used <= CELL_MOST && c->free <= CELL_MOST &&
	       c->dirty <= CELL_MOST && c->absent <= CELL_MOST &&
	       map_cell_bytes(c);
}

static int cell_by_address(const void *va, const void *vb)
{
	const struct kf_stats_cell *a = va, *b = vb;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Two neighbours by address. */
static bool cells_fit(const struct kf_stats_cell *a,
		      const struct kf_stats_cell *b)
{
	uint64_t end = a->begin + map_cell_bytes(a);

	return a->region == b->region ? b->begin == end : b->begin >= end;
}

/* Moves the cells of the newest map to the begin. */
static uint32_t map_newest(struct kf_stats_cell *cell, uint32_t nr)
{
	uint64_t newest = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		newest = KF_MAX(newest, cell[i].noted);
	for (uint32_t i = 0; newest && i < nr; i++) {
		if (cell[i].noted == newest)
			cell[kept++] = cell[i];
	}
	return newest <= KF_MOST ? kept : 0;
}

uint32_t kf_heap_map_settle(struct kf_stats_cell *cell, uint32_t nr)
{
	nr = map_newest(cell, nr);
	if (nr > KF_STATS_CELLS)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (cell[i].nr != nr || !cell_holds(&cell[i]))
			return 0;
	}
	qsort(cell, nr, sizeof(*cell), cell_by_address);
	for (uint32_t i = 1; i < nr; i++) {
		if (!cells_fit(&cell[i - 1], &cell[i]))
			return 0;
	}
	return nr;
}

uint64_t kf_heap_map_noted(const struct kf_snapshot *s)
{
	uint64_t noted = s->nr_cells ? s->cells[0].noted : 0;

	if (!noted)
		return 0;
	return kf_sum(s->id.created_ns,
		      noted - KF_MIN(noted, s->id.created_mono));
}

uint64_t kf_heap_map_length(const struct kf_snapshot *s)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->nr_cells; i++)
		most = KF_MAX(most, map_cell_bytes(&s->cells[i]));
	return most;
}

static void sums_add(struct kf_cell_sums *sums, const struct kf_stats_cell *c)
{
	sums->used += c->used;
	sums->free += c->free;
	sums->dirty += c->dirty;
	sums->absent += c->absent;
}

struct kf_cell_span kf_heap_map_part(const struct kf_snapshot *s,
				     uint32_t first, uint32_t end)
{
	const struct kf_stats_cell *last = &s->cells[end - 1];
	struct kf_cell_span span = {
		.first = first,
		.nr = end - first,
		.begin = s->cells[first].begin,
		.end = last->begin + map_cell_bytes(last),
	};

	for (uint32_t i = first; i < end; i++)
		sums_add(&span.sums, &s->cells[i]);
	return span;
}

struct kf_cell_span kf_heap_map_region(const struct kf_snapshot *s,
				       uint32_t first)
{
	uint32_t end = first + 1;

	while (end < s->nr_cells &&
	       s->cells[end].region == s->cells[first].region)
		end++;
	return kf_heap_map_part(s, first, end);
}

uint32_t kf_heap_map_alike(const struct kf_snapshot *s, uint32_t first,
			   uint32_t end)
{
	int level = kf_cell_level(&s->cells[first]);
	uint32_t i = first + 1;

	while (i < end && kf_cell_level(&s->cells[i]) == level)
		i++;
	return i - first;
}

struct kf_cell_sums kf_heap_map_all(const struct kf_snapshot *s,
				    uint32_t *nr_regions)
{
	struct kf_cell_sums sums = {0};

	*nr_regions = 0;
	for (uint32_t i = 0; i < s->nr_cells; i++) {
		sums_add(&sums, &s->cells[i]);
		*nr_regions +=
			!i || s->cells[i].region != s->cells[i - 1].region;
	}
	return sums;
}

uint64_t kf_cell_memory(const struct kf_cell_sums *sums)
{
	return sums->used + sums->free + sums->dirty;
}

double kf_cell_percent(const struct kf_cell_sums *sums)
{
	uint64_t memory = kf_cell_memory(sums);

	return memory ? 100.0 * (double)sums->used / (double)memory : 0;
}

int kf_cell_level(const struct kf_stats_cell *c)
{
	uint64_t memory = c->used + c->free + c->dirty;
	uint64_t tenths;

	if (!memory)
		return KF_CELL_ABSENT;
	if (!c->used)
		return KF_CELL_EMPTY;
	if (c->used == memory)
		return KF_CELL_FULL;
	tenths = (10 * c->used + memory / 2) / memory;
	return (int)KF_MIN(KF_MAX(tenths, (uint64_t)1), (uint64_t)9);
}
