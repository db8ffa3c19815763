/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of the heap: see cells.h.
 *
 * The owner of a slab may change it at any time, so each number is read once
 * and limited to the slab.
 */
#include "heap/cells.h"

#include "heap/slab.h"
#include "pages/pages.h"

/* A walk over all runs, region by region, by address. */
struct cells {
	struct kf_stats_cell *cell;
	uint32_t max;
	uint64_t length; /* of a cell */
	const struct kf_region *region;
	uint32_t nr_regions;
	uint64_t first; /* cell of the region */
	uint64_t nr;	/* cells so far, with those that found no room */
};

/* Where the bytes of a cell are counted. */
enum { CELL_USED, CELL_FREE, CELL_DIRTY, CELL_ABSENT };

static void cell_add(struct kf_stats_cell *c, int part, uint64_t bytes)
{
	uint64_t *const parts[] = {
		[CELL_USED] = &c->used,
		[CELL_FREE] = &c->free,
		[CELL_DIRTY] = &c->dirty,
		[CELL_ABSENT] = &c->absent,
	};

	*parts[part] += bytes;
}

/* @amount * @part / @whole; spans above 4 GiB are of whole pages. */
static uint64_t cells_share(uint64_t amount, uint64_t part, uint64_t whole)
{
	unsigned int shift = whole >> 32 ? KF_PAGE_SHIFT : 0;

	return (amount >> shift) * (part >> shift) / (whole >> shift) << shift;
}

/* Spreads @some of @bytes evenly, and fills up with another part. */
static void cells_spread(struct cells *w, const char *start, uint64_t bytes,
			 uint64_t amount, int some, int rest)
{
	uint64_t begin = (uint64_t)(start - w->region->base);
	uint64_t at = 0, before = 0;

	while (at < bytes) {
		uint64_t i = (begin + at) / w->length;
		uint64_t to = KF_MIN((i + 1) * w->length - begin, bytes);
		uint64_t share = cells_share(amount, to, bytes);
		struct kf_stats_cell *c = &w->cell[w->first + i];

		cell_add(c, some, share - before);
		cell_add(c, rest, to - at - (share - before));
		before = share;
		at = to;
	}
}

static void cells_fill(struct cells *w, const char *start, uint64_t bytes,
		       int part)
{
	cells_spread(w, start, bytes, bytes, part, part);
}

static void cells_slab(struct cells *w, const struct kf_slab *slab,
		       uint64_t bytes)
{
	uint64_t size = kf_load(&slab->size);
	uint64_t nr = __atomic_load_n(&slab->carved, __ATOMIC_RELAXED);
	uint64_t carved = KF_MIN(nr * size, bytes);
	uint64_t used = KF_MIN(kf_load(&slab->used) * size, carved);

	cells_spread(w, slab->run.start, carved, used, CELL_USED, CELL_FREE);
	cells_fill(w, slab->run.start + carved, bytes - carved,
		   slab->zeroed ? CELL_ABSENT : CELL_DIRTY);
}

static void cells_free_run(struct cells *w, const struct kf_run *run,
			   uint64_t bytes)
{
	uint64_t dirty = (uint64_t)run->dirty << KF_PAGE_SHIFT;
	uint64_t clean = (uint64_t)run->clean << KF_PAGE_SHIFT;

	clean = KF_MIN(clean, bytes - dirty);
	cells_spread(w, run->start, bytes - clean, dirty, CELL_DIRTY,
		     CELL_ABSENT);
	cells_fill(w, run->start + bytes - clean, clean, CELL_ABSENT);
}

static uint64_t cells_of(const struct kf_region *region, uint64_t length)
{
	uint64_t bytes = (uint64_t)region->committed << KF_PAGE_SHIFT;

	return (bytes + length - 1) / length;
}

/* The old map is not whole from here on. */
static void cells_clear(const struct cells *w)
{
	for (uint32_t i = 0; i < w->max; i++)
		kf_store(&w->cell[i].noted, 0);
	/* before the stores that follow */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void cells_enter(struct cells *w, const struct kf_region *region)
{
	if (!w->region)
		cells_clear(w);
	w->region = region;
	w->nr_regions++;
	w->first = w->nr;
	w->nr += cells_of(region, w->length);
	for (uint64_t i = w->first; i < KF_MIN(w->nr, (uint64_t)w->max); i++)
		w->cell[i] = (struct kf_stats_cell){
			.begin = (uintptr_t)region->base +
				 (i - w->first) * w->length,
			.region = w->nr_regions,
		};
}

static void cells_run(const struct kf_run *run, void *data)
{
	struct cells *w = data;
	uint64_t bytes = kf_run_bytes(run);
	uint8_t kind = kf_load(&run->kind);

	if (run->region != w->region)
		cells_enter(w, run->region);
	if (w->nr > w->max)
		return;
	if (kind == KF_RUN_SLAB)
		cells_slab(w, kf_container_of(run, struct kf_slab, run), bytes);
	else if (kind == KF_RUN_FREE)
		cells_free_run(w, run, bytes);
	else
		cells_fill(w, run->start, bytes,
			   kind == KF_RUN_CACHED ? CELL_FREE : CELL_USED);
}

uint32_t kf_cells_note(struct kf_stats_cell *cell, uint32_t max,
		       uint64_t length, uint64_t now)
{
	struct cells w = {.cell = cell, .max = max, .length = length};

	if (!kf_pages_each(cells_run, &w))
		return 0;
	if (w.nr > max)
		return max + 1;
	for (uint64_t i = 0; i < w.nr; i++) {
		cell[i].nr = (uint32_t)w.nr;
		kf_store_release(&cell[i].noted, now);
	}
	return (uint32_t)w.nr;
}

/* The cells that the regions need at each length, from KF_CELL_LEAST on. */
struct needs {
	uint64_t nr[32];
};

static void needs_region(const struct kf_region *region, void *data)
{
	struct needs *n = data;

	for (unsigned int i = 0; i < KF_ARRAY_SIZE(n->nr); i++)
		n->nr[i] += cells_of(region, KF_CELL_LEAST << i);
}

uint64_t kf_cells_length(uint32_t max, uint32_t *nr)
{
	struct needs n = {0};
	unsigned int i = 0;

	if (!kf_pages_each_region(needs_region, &n))
		n.nr[0] = 0;
	while (n.nr[i] > max && i < KF_ARRAY_SIZE(n.nr) - 1)
		i++;
	*nr = (uint32_t)KF_MIN(n.nr[i], (uint64_t)max);
	return KF_CELL_LEAST << i;
}
