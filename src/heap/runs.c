/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The run cache: see runs.h.
 */
#include "heap/heap.h"

#include "heap/remote.h"

#include "pages/limit.h"
#include "pages/pages.h"

/* The bounds of the cache, in pages: PAGES_MAX and a PART of what is in use. */
#define PAGES_MAX ((512 * KF_KIB) >> KF_PAGE_SHIFT)
#define PART 12
#define PART_MAX ((1536 * KF_KIB) >> KF_PAGE_SHIFT)
/* With fewer pages cached, no runs are given back for dirty pages. */
#define PAGES_MIN ((128 * KF_KIB) >> KF_PAGE_SHIFT)
#define DROPPED 4 /* runs given back at once, at most */

_Static_assert(KF_RUNS_LONGEST <= PAGES_MAX, "one run fits");

/*
 * The bound of the cache in pages. What the heap has in use is an estimate, as
 * the counters of a thread do not show which of its blocks other threads freed.
 * A thread that uses blocks that other threads allocated is given an equal part
 * of what all threads have in use.
 */
static uint64_t runs_max(const struct kf_heap *heap)
{
	const uint64_t *sum = heap->front.slot->scalar;
	uint64_t part = kf_word_get(KF_WORD_large) + kf_word_get(KF_WORD_slabs);
	int64_t own = (int64_t)(sum[KF_SLOT_large_allocated] -
				sum[KF_SLOT_large_freed] + sum[KF_SLOT_carved]);

	part = (part >> KF_PAGE_SHIFT) - heap->runs.nr_pages;
	part /= KF_MAX(kf_word_get(KF_WORD_threads), (uint64_t)1);
	if (own > (int64_t)(part << KF_PAGE_SHIFT))
		part = (uint64_t)own >> KF_PAGE_SHIFT;
	return PAGES_MAX + KF_MIN(part / PART, PART_MAX);
}

static void runs_push(struct kf_heap *heap, struct kf_run *run)
{
	struct kf_runs *runs = &heap->runs;
	unsigned int i = run->nr_pages - 1;

	run->pending = runs->run[i];
	runs->run[i] = run;
	runs->lengths |= 1ull << i;
	runs->nr_pages += run->nr_pages;
	if (run->kind != KF_RUN_SLAB)
		kf_heap_stat(heap, KF_SLOT_large_kept, kf_run_bytes(run));
}

/* Take the run of @i + 1 pages that was cached last; there must be one. */
static struct kf_run *runs_pop(struct kf_heap *heap, unsigned int i)
{
	struct kf_runs *runs = &heap->runs;
	struct kf_run *run = runs->run[i];

	runs->run[i] = run->pending;
	if (!run->pending)
		runs->lengths &= ~(1ull << i);
	runs->nr_pages -= run->nr_pages;
	if (run->kind != KF_RUN_SLAB)
		kf_heap_stat(heap, KF_SLOT_large_kept, -kf_run_bytes(run));
	return run;
}

/* Take a run of the next length, in turn. */
static struct kf_run *runs_pop_next(struct kf_heap *heap)
{
	uint64_t all = heap->runs.lengths;
	uint64_t next = all & ~0ull << heap->runs.next;
	unsigned int i = (unsigned int)__builtin_ctzll(next ? next : all);

	heap->runs.next = (i + 1) % KF_RUNS_LONGEST;
	return runs_pop(heap, i);
}

struct kf_run *kf_runs_take_all(struct kf_heap *heap, struct kf_run *list)
{
	while (heap->runs.lengths) {
		struct kf_run *run = runs_pop_next(heap);

		run->pending = list;
		list = run;
	}
	return list;
}

void kf_runs_drop_some(struct kf_heap *heap)
{
	uint32_t stay = heap->runs.nr_pages - heap->runs.nr_pages / 4;
	struct kf_run *list = NULL;

	kf_heap_enter(heap);
	for (int i = 0;
	     i < DROPPED && heap->runs.lengths && heap->runs.nr_pages >= stay;
	     i++) {
		struct kf_run *run = runs_pop_next(heap);

		run->pending = list;
		list = run;
	}
	kf_pages_free_list(list);
	kf_heap_leave(heap);
}

void kf_runs_drop(struct kf_heap *heap)
{
	while (heap->runs.lengths)
		kf_runs_drop_some(heap);
}

static bool runs_are_too_many(const struct kf_heap *heap, uint64_t nr_pages)
{
	return nr_pages > PAGES_MAX && nr_pages > runs_max(heap);
}

bool kf_runs_put(struct kf_heap *heap, struct kf_run *run)
{
	if (!heap || !run->region || run->nr_pages > KF_RUNS_LONGEST ||
	    unlikely(kf_load(&kf_limit.is_near)))
		return false;
	while (runs_are_too_many(heap, heap->runs.nr_pages + run->nr_pages))
		kf_runs_drop_some(heap);
	kf_heap_enter(heap);
	/* Neighbours that are freed see a run in use with either kind. */
	if (run->kind == KF_RUN_LARGE)
		__atomic_store_n(&run->kind, (uint8_t)KF_RUN_CACHED,
				 __ATOMIC_RELAXED);
	runs_push(heap, run);
	kf_heap_leave(heap);
	return true;
}

/* The cached lengths from @nr_pages to @most, a bit each. */
static uint64_t runs_fitting(const struct kf_heap *heap, size_t nr_pages,
			     size_t most)
{
	uint64_t lengths = ~0ull;

	if (most < KF_RUNS_LONGEST)
		lengths = (1ull << most) - 1;
	return heap->runs.lengths & lengths & ~0ull << (nr_pages - 1);
}

/*
 * Take the shortest run that is aligned. Of each length only the run cached
 * last is considered, as its pages may still be in the processor's cache.
 */
static struct kf_run *runs_pop_aligned(struct kf_heap *heap, uint64_t lengths,
				       size_t align)
{
	for (; lengths; lengths &= lengths - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(lengths);

		if (!((uintptr_t)heap->runs.run[i]->start & (align - 1)))
			return runs_pop(heap, i);
	}
	return NULL;
}

struct kf_run *kf_runs_take(struct kf_heap *heap, size_t nr_pages, size_t most,
			    size_t align, enum kf_run_kind kind)
{
	struct kf_run *run;

	if (!heap || !heap->runs.lengths || nr_pages - 1 >= KF_RUNS_LONGEST)
		return NULL;
	kf_heap_enter(heap);
	run = runs_pop_aligned(heap, runs_fitting(heap, nr_pages, most), align);
	if (run && !kf_pages_set_kind(run, kind)) {
		runs_push(heap, run);
		run = NULL;
	}
	/* Not cleared while the run was a slab. */
	if (run && kind == KF_RUN_LARGE)
		run->fresh = 0;
	kf_heap_leave(heap);
	return run;
}

struct kf_run *kf_runs_alloc_dirty(struct kf_heap *heap, size_t nr_pages,
				   size_t align_pages, enum kf_run_kind kind)
{
	bool many = heap && heap->runs.nr_pages > PAGES_MIN;

	for (;;) {
		struct kf_run *run =
			kf_pages_alloc_dirty(nr_pages, align_pages, kind);

		if (run || !many || !heap->runs.lengths)
			return run;
		kf_runs_drop_some(heap);
	}
}

struct kf_run *kf_runs_alloc(struct kf_heap *heap, size_t nr_pages,
			     size_t align_pages, enum kf_run_kind kind,
			     bool *zeroed)
{
	struct kf_run *run = NULL;

	*zeroed = false;
	if (heap && kf_load(&heap->kept) > KF_KEPT_STAY) {
		kf_heap_enter(heap);
		kf_cache_drop(heap);
		kf_heap_leave(heap);
	}
	if (heap && heap->runs.nr_pages > PAGES_MIN)
		run = kf_runs_alloc_dirty(heap, nr_pages, align_pages, kind);
	return run ? run : kf_pages_alloc(nr_pages, align_pages, kind, zeroed);
}
