/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kept runs: large blocks that a thread freed, for its next ones.
 *
 * A large block is taken and given back under the pages lock, which all
 * threads share. So a heap keeps a few freed runs of moderate length, oldest
 * first, and hands one out to a request that it serves with an eighth of waste
 * at most. They count as runs in use and are told apart by their kind. When
 * there are too many the oldest go back, some under the lock at once; all go
 * with the next tick of the clock. A thread with many large blocks may keep a
 * part of their length more: it may replace many of them at once.
 */
#include "engine/large.h"

#include "pages/pages.h"

#define PAGES_MAX ((512 * KF_KIB) >> KF_PAGE_SHIFT)
#define SHARE 8
#define DROPPED 16 /* at once; the lock is held for so long */

_Static_assert(KF_KEPT_PAGES <= UINT8_MAX, "a length fits a byte");
_Static_assert(KF_NR_KEPT <= UINT8_MAX, "and so does their number");

/* What others freed of it, or it of others, is not told apart: an estimate. */
static uint64_t pages_max(const struct kf_heap *heap)
{
	const uint64_t *sum = heap->slot->scalar;
	int64_t live = (int64_t)(sum[KF_SLOT_large_allocated] -
				 sum[KF_SLOT_large_freed]);

	return PAGES_MAX +
	       ((uint64_t)KF_MAX(live, (int64_t)0) >> KF_PAGE_SHIFT) / SHARE;
}

static void count(struct kf_heap *heap, const struct kf_run *run, bool more)
{
	size_t bytes = kf_run_bytes(run);

	heap->kept_pages += more ? run->nr_pages : -run->nr_pages;
	kf_heap_stat(heap, KF_SLOT_large_kept, more ? bytes : -bytes);
}

static void remove_at(struct kf_heap *heap, unsigned int at, unsigned int nr)
{
	heap->nr_kept -= nr;
	for (unsigned int i = at; i < heap->nr_kept; i++) {
		heap->kept[i] = heap->kept[i + nr];
		heap->kept_length[i] = heap->kept_length[i + nr];
	}
}

static void set_kind(struct kf_run *run, enum kf_run_kind kind)
{
	/* Who looks at its neighbours sees a run in use, either way. */
	__atomic_store_n(&run->kind, (uint8_t)kind, __ATOMIC_RELAXED);
}

/* The @nr oldest go back. */
static void drop(struct kf_heap *heap, unsigned int nr)
{
	struct kf_run *list = NULL;

	for (unsigned int i = nr; i-- > 0;) {
		struct kf_run *run = heap->kept[i];

		count(heap, run, false);
		run->pending = list;
		list = run;
	}
	remove_at(heap, 0, nr);
	kf_pages_free_list(list);
}

static bool put(struct kf_heap *heap, struct kf_run *run)
{
	uint64_t max = pages_max(heap);

	if (heap->nr_kept == KF_NR_KEPT ||
	    heap->kept_pages + run->nr_pages > max)
		drop(heap, KF_MIN((heap->nr_kept + 1U) / 2, DROPPED));
	if (heap->kept_pages + run->nr_pages > max)
		return false;
	set_kind(run, KF_RUN_KEPT);
	heap->kept[heap->nr_kept] = run;
	heap->kept_length[heap->nr_kept++] = (uint8_t)run->nr_pages;
	count(heap, run, true);
	return true;
}

bool kf_kept_put(struct kf_heap *heap, struct kf_run *run)
{
	bool done;

	if (!heap->has_bins || run->kind != KF_RUN_LARGE || run->private ||
	    run->nr_pages > KF_KEPT_PAGES)
		return false;
	kf_heap_enter(heap);
	done = put(heap, run);
	kf_heap_leave(heap);
	return done;
}

/* The shortest that does, the latest of these: it may be in the cache. */
static unsigned int best(const struct kf_heap *heap, size_t nr_pages,
			 uintptr_t align)
{
	size_t limit = nr_pages + nr_pages / 8 + 1;
	unsigned int found = KF_NR_KEPT;

	for (unsigned int i = heap->nr_kept; i-- > 0 && limit > nr_pages;) {
		size_t length = heap->kept_length[i];

		if (length < nr_pages || length >= limit ||
		    (uintptr_t)heap->kept[i]->start & (align - 1))
			continue;
		limit = length;
		found = i;
	}
	return found;
}

struct kf_run *kf_kept_take(struct kf_heap *heap, size_t nr_pages, size_t align)
{
	struct kf_run *run = NULL;
	unsigned int i;

	if (likely(!heap->nr_kept))
		return NULL;
	kf_heap_enter(heap);
	i = best(heap, nr_pages, align);
	if (i < KF_NR_KEPT) {
		run = heap->kept[i];
		count(heap, run, false);
		remove_at(heap, i, 1);
		set_kind(run, KF_RUN_LARGE);
	}
	kf_heap_leave(heap);
	return run;
}

void kf_kept_drop(struct kf_heap *heap)
{
	while (heap->nr_kept)
		drop(heap, KF_MIN(heap->nr_kept, DROPPED));
}
