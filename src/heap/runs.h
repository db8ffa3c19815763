/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The run cache: freed runs of pages that a heap keeps for its next slabs and
 * large blocks.
 *
 * All threads share the pages lock, so a slab or a large block that comes and
 * goes should not take it each time. A heap keeps freed runs of up to 256 KiB,
 * whatever they were used for, in a list for each length; the new owner says
 * what the run is used for. Until then it counts as what it was used for last,
 * a large block as large_kept too.
 *
 * The cache holds 512 KiB and a twelfth of what the heap has in use, 2 MiB at
 * most. Above that a quarter goes back to the pages, four runs at once at most,
 * as the pages lock is held for so long, of all lengths in turn. The rest goes
 * with the next tick of the clock, and before fresh pages are taken.
 */
#ifndef KF_HEAP_RUNS_H
#define KF_HEAP_RUNS_H

#include "pages/run.h"

struct kf_heap;

/* A longer run costs more to fill than the lock costs, and is not cached. */
#define KF_RUNS_LONGEST ((256 * KF_KIB) >> KF_PAGE_SHIFT)

_Static_assert(KF_RUNS_LONGEST == 64, "a bit for each length");

/* All fields are the heap owner's. */
struct kf_runs {
	struct kf_run *run[KF_RUNS_LONGEST]; /* by pages less one, latest first,
						linked by pending */
	uint64_t lengths;		     /* which there are, a bit each */
	uint32_t nr_pages;		     /* of all together */
	uint32_t next; /* the next length to give one back */
};

/**
 * kf_runs_put() - keep a freed run
 * @heap:	the heap, or NULL
 * @run:	a run that nobody uses
 *
 * Context: the heap's owner.
 * Return: false when the run is not worth keeping; nothing changed.
 */
bool kf_runs_put(struct kf_heap *heap, struct kf_run *run) __must_check;

/**
 * kf_runs_take() - the shortest cached run that does
 * @heap:	the heap, or NULL
 * @nr_pages:	pages wanted, any number
 * @most:	pages that it may have
 * @align:	bytes, power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 *
 * Context: the heap's owner.
 * Return: the run, which may not read as zeroes, or NULL.
 */
struct kf_run *kf_runs_take(struct kf_heap *heap, size_t nr_pages, size_t most,
			    size_t align, enum kf_run_kind kind) __must_check;

/**
 * kf_runs_alloc() - kf_pages_alloc(), where cached runs go before fresh pages
 * kf_runs_alloc_dirty() - likewise kf_pages_alloc_dirty()
 * @heap:	the heap, or NULL
 * @nr_pages:	pages wanted, not 0
 * @align_pages: power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 * @zeroed:	out: as of kf_pages_alloc()
 *
 * No more than is needed goes, and 128 KiB stay: otherwise each such run would
 * cost all others the way by the lock.
 *
 * Context: the heap's owner; as kf_pages_alloc().
 * Return: the run, or NULL.
 */
struct kf_run *kf_runs_alloc(struct kf_heap *heap, size_t nr_pages,
			     size_t align_pages, enum kf_run_kind kind,
			     bool *zeroed) __must_check;
struct kf_run *kf_runs_alloc_dirty(struct kf_heap *heap, size_t nr_pages,
				   size_t align_pages,
				   enum kf_run_kind kind) __must_check;

/**
 * kf_runs_drop() - give all cached runs back to the pages
 * kf_runs_drop_some() - give some back, one of each length in turn
 * @heap:	the heap
 *
 * Context: the heap's owner.
 */
void kf_runs_drop(struct kf_heap *heap);
void kf_runs_drop_some(struct kf_heap *heap);

#endif
