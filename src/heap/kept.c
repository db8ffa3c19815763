/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kept runs: large blocks that a thread freed, for its next ones.
 *
 * A large block is taken and given back under the pages lock, which all threads
 * share. So a heap keeps freed runs of moderate length, in a list for each, and
 * hands one out to a request that it serves with half as much again at most, or
 * with an eighth where no other thread may wait for the lock: the shortest that
 * does is taken, so most waste less. They count as runs in use and are told
 * apart by their kind. When there are too many a quarter goes back, but four at
 * once at most, as the lock is held for so long, of all lengths alike; all go
 * with the next tick of the clock. A thread with many large blocks may keep a
 * part of their length more: it may replace many at once.
 */
#include "heap/large.h"

#include "pages/pages.h"

#define PAGES_MAX ((512 * KF_KIB) >> KF_PAGE_SHIFT)
#define SHARE 12
#define MORE_MAX ((2 * KF_MIB) >> KF_PAGE_SHIFT)
#define DROPPED 4 /* at once; the lock is held for so long */

_Static_assert(KF_KEPT_PAGES <= PAGES_MAX, "one is not much");

/*
 * What others freed of it, or it of others, is not told apart: an estimate. A
 * thread that lives on what others had before has its part of what all have.
 */
static uint64_t pages_max(const struct kf_heap *heap)
{
	const uint64_t *sum = heap->front.slot->scalar;
	int64_t live = (int64_t)(sum[KF_SLOT_large_allocated] -
				 sum[KF_SLOT_large_freed]);
	uint64_t part = (kf_word_get(KF_WORD_large) >> KF_PAGE_SHIFT) -
			heap->kept_pages;

	part /= KF_MAX(kf_word_get(KF_WORD_threads), (uint64_t)1);
	if (live > (int64_t)(part << KF_PAGE_SHIFT))
		part = (uint64_t)live >> KF_PAGE_SHIFT;
	return PAGES_MAX + KF_MIN(part / SHARE, MORE_MAX);
}

static void set_kind(struct kf_run *run, enum kf_run_kind kind)
{
	/* Who looks at its neighbours sees a run in use, either way. */
	__atomic_store_n(&run->kind, (uint8_t)kind, __ATOMIC_RELAXED);
}

static void kept_push(struct kf_heap *heap, struct kf_run *run)
{
	unsigned int i = run->nr_pages - 1;

	run->pending = heap->kept->run[i];
	heap->kept->run[i] = run;
	heap->kept_lengths |= 1ull << i;
	heap->kept_pages += run->nr_pages;
	kf_heap_stat(heap, KF_SLOT_large_kept, kf_run_bytes(run));
}

/* The latest of a length that there is one of, in pages less one. */
static struct kf_run *kept_pop(struct kf_heap *heap, unsigned int i)
{
	struct kf_run *run = heap->kept->run[i];

	heap->kept->run[i] = run->pending;
	if (!run->pending)
		heap->kept_lengths &= ~(1ull << i);
	heap->kept_pages -= run->nr_pages;
	kf_heap_stat(heap, KF_SLOT_large_kept, -kf_run_bytes(run));
	return run;
}

/* Of the length whose turn it is to give one back. */
static struct kf_run *pop_next(struct kf_heap *heap)
{
	uint64_t next = heap->kept_lengths & ~0ull << heap->kept->next;
	unsigned int i =
		(unsigned int)__builtin_ctzll(next ? next : heap->kept_lengths);

	heap->kept->next = (i + 1) % KF_KEPT_PAGES;
	return kept_pop(heap, i);
}

void kf_kept_drop_some(struct kf_heap *heap)
{
	uint32_t stay = heap->kept_pages - heap->kept_pages / 4;
	struct kf_run *list = NULL;
	int nr = 0;

	while (nr++ < DROPPED && heap->kept_lengths &&
	       heap->kept_pages >= stay) {
		struct kf_run *run = pop_next(heap);

		run->pending = list;
		list = run;
	}
	kf_pages_free_list(list);
}

/* Whether so many pages are too many. */
static bool is_much(const struct kf_heap *heap, size_t nr_pages)
{
	return nr_pages > PAGES_MAX && nr_pages > pages_max(heap);
}

static bool kept_put(struct kf_heap *heap, struct kf_run *run)
{
	if (unlikely(!heap->kept))
		heap->kept = kf_meta_alloc(sizeof(*heap->kept));
	if (unlikely(!heap->kept))
		return false;
	while (is_much(heap, heap->kept_pages + run->nr_pages))
		kf_kept_drop_some(heap);
	set_kind(run, KF_RUN_KEPT);
	kept_push(heap, run);
	return true;
}

bool kf_kept_put(struct kf_heap *heap, struct kf_run *run)
{
	bool done;

	if (!heap || run->kind != KF_RUN_LARGE || run->private ||
	    run->nr_pages > KF_KEPT_PAGES)
		return false;
	kf_heap_enter(heap);
	done = kept_put(heap, run);
	kf_heap_leave(heap);
	kf_pages_settle();
	return done;
}

/* Lengths from the one wanted on that will do, a bit for each. */
static uint64_t near_enough(size_t nr_pages)
{
	size_t part = kf_word_get(KF_WORD_threads) > 1 ? 2 : 8;

	return (2ull << nr_pages / part) - 1;
}

/*
 * The shortest that do, the latest of these: it may be in the cache. Of a
 * length no other is looked at for its alignment.
 */
static struct kf_run *best(struct kf_heap *heap, size_t nr_pages,
			   uintptr_t align)
{
	uint64_t lengths =
		heap->kept_lengths >> (nr_pages - 1) & near_enough(nr_pages);

	for (; lengths; lengths &= lengths - 1) {
		unsigned int i = (unsigned int)nr_pages - 1 +
				 (unsigned int)__builtin_ctzll(lengths);

		if (!((uintptr_t)heap->kept->run[i]->start & (align - 1)))
			return kept_pop(heap, i);
	}
	return NULL;
}

struct kf_run *kf_kept_take(struct kf_heap *heap, size_t nr_pages, size_t align)
{
	struct kf_run *run;

	if (!heap || likely(!heap->kept_lengths) || !nr_pages ||
	    nr_pages > KF_KEPT_PAGES)
		return NULL;
	kf_heap_enter(heap);
	run = best(heap, nr_pages, align);
	if (run)
		set_kind(run, KF_RUN_LARGE);
	kf_heap_leave(heap);
	return run;
}

void kf_kept_drop(struct kf_heap *heap)
{
	while (heap->kept_lengths)
		kf_kept_drop_some(heap);
}
