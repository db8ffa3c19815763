/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The run cache: freed runs of pages that a heap keeps for its next slabs and
 * large blocks.
 *
 * All threads share the pages lock, so a slab or a large block that is freed
 * and needed again should not take the lock each time. A heap keeps freed runs
 * of up to 256 KiB in a list for each length. A run may be reused for another
 * purpose. Until then it is counted as what it was last, and if that was a
 * large block, also as large_kept.
 *
 * The cache holds 512 KiB plus a twelfth of what the heap has in use, at most
 * 2 MiB. Above that bound a quarter is given back, of all lengths in turn, but
 * at most four runs at once, to hold the pages lock for a short time only. A
 * tick of the clock gives back all runs, and a heap gives back runs before it
 * takes fresh pages.
 */
#ifndef KF_HEAP_RUNS_H
#define KF_HEAP_RUNS_H

#include "pages/run.h"

struct kf_heap;

/* In pages. To fill a longer run costs more than the lock: it is not cached. */
#define KF_RUNS_LONGEST ((256 * KF_KIB) >> KF_PAGE_SHIFT)

_Static_assert(KF_RUNS_LONGEST == 64, "a bit for each length");

/* Only the heap's owner accesses the fields. Indices are pages less one. */
struct kf_runs {
	/* The last run cached of each length; @pending links to the others. */
	struct kf_run *run[KF_RUNS_LONGEST];
	uint64_t lengths;  /* the lengths that are cached, a bit each */
	uint32_t nr_pages; /* of all cached runs */
	uint32_t next;	   /* the next length to give back a run of */
};

/**
 * kf_runs_put() - cache a run
 * @heap:	the heap, or NULL
 * @run:	a run that is no longer used
 *
 * Context: the heap's owner.
 * Return: false: nothing was done, as there is no heap, or the run is a mapping
 *	   or too long.
 */
bool kf_runs_put(struct kf_heap *heap, struct kf_run *run) __must_check;

/**
 * kf_runs_take() - take the shortest cached run that fits
 * @heap:	the heap, or NULL
 * @nr_pages:	pages wanted, any number
 * @most:	pages that the run may have
 * @align:	bytes, power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 *
 * Context: the heap's owner.
 * Return: the run, which may not read as zeroes, or NULL.
 */
struct kf_run *kf_runs_take(struct kf_heap *heap, size_t nr_pages, size_t most,
			    size_t align, enum kf_run_kind kind) __must_check;

/**
 * kf_runs_alloc() - kf_pages_alloc(), giving back cached runs for dirty pages
 * kf_runs_alloc_dirty() - kf_pages_alloc_dirty(), likewise
 * @heap:	the heap, or NULL
 * @nr_pages:	pages wanted, not 0
 * @align_pages: power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 * @zeroed:	out: as of kf_pages_alloc()
 *
 * Dirty pages are better than fresh ones. So a heap that caches more than
 * 128 KiB gives back runs until dirty pages make up a run. kf_runs_alloc()
 * empties a block cache of more than KF_KEPT_STAY before.
 *
 * Context: the heap's owner; as kf_pages_alloc().
 * Return: the run; NULL when the kernel has no more memory, or from
 *	   kf_runs_alloc_dirty() when no dirty pages make up a run.
 */
struct kf_run *kf_runs_alloc(struct kf_heap *heap, size_t nr_pages,
			     size_t align_pages, enum kf_run_kind kind,
			     bool *zeroed) __must_check;
struct kf_run *kf_runs_alloc_dirty(struct kf_heap *heap, size_t nr_pages,
				   size_t align_pages,
				   enum kf_run_kind kind) __must_check;

/**
 * kf_runs_take_all() - empty the cache
 * @heap:	the heap
 * @list:	runs, linked by pending; the cached ones come before
 *
 * Context: the heap is held (heap/reclaim.h).
 * Return: the list.
 */
struct kf_run *kf_runs_take_all(struct kf_heap *heap, struct kf_run *list);

/**
 * kf_runs_drop() - give back all cached runs
 * kf_runs_drop_some() - give back up to four runs, of all lengths in turn
 * @heap:	the heap
 *
 * Context: the heap's owner.
 */
void kf_runs_drop(struct kf_heap *heap);
void kf_runs_drop_some(struct kf_heap *heap);

#endif
