/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of a heap whose owner does nothing: see reclaim.h.
 */
#include "heap/reclaim.h"

#include "heap/audit.h"
#include "heap/remote.h"
#include "pages/pages.h"

#include "sys/thread.h"
#include "sys/process.h"

#include "probes/konfiscator-probes.h"

#define PERIOD_MS 1000

/* Slabs at a time: no call of a thread works long for others. */
#define SLABS_MAX 2048

/* Tests of @held before the owner sleeps for some microseconds. */
#define SPINS 100

bool kf_reclaim_goes_on;

static struct kf_slab *reclaim_slab_of(struct kf_run *run)
{
	return kf_container_of(run, struct kf_slab, run);
}

/*
 * Note whether the owner took no slow path since the last look; inside a tag it
 * may enter the sibling only. Returns whether an idle heap may have a run cache
 * or empty slabs: not if they were taken after the last look.
 */
static bool reclaim_look(struct kf_heap *heap, bool all)
{
	const struct kf_heap *marked = kf_marked_of(heap);
	uint32_t entries = kf_load(&heap->entries);
	bool was_idle = heap->idle, same;

	if (marked)
		entries += kf_load(&marked->entries);
	same = heap->seen == entries;
	heap->seen = entries;
	heap->idle = same || all;
	return heap->idle && !(same && was_idle);
}

static void reclaim_begin(struct kf_heap *heap, bool idle)
{
	heap->reclaimed = NULL;
	heap->idle = idle;
	kf_store(&heap->held, true);
}

/* Hold the heaps that may have free memory; returns their number. */
static uint32_t reclaim_hold_heaps(bool all)
{
	struct kf_heap *heap = NULL;
	uint32_t nr = 0;

	while ((heap = kf_arenas_next(heap)) != NULL) {
		struct kf_heap *marked = kf_marked_of(heap);

		if (kf_load(&heap->counters.state) != KF_COUNTERS_IN_USE ||
		    (!reclaim_look(heap, all) && !kf_remote_is_pending(heap)))
			continue;
		reclaim_begin(heap, heap->idle);
		if (marked)
			reclaim_begin(marked, heap->idle);
		nr++;
	}
	return nr;
}

static void reclaim_end(struct kf_heap *heap)
{
	/* pairs with the acquire of kf_heap_enter() */
	kf_store_release(&heap->held, false);
}

static void reclaim_push(struct kf_heap *heap, struct kf_slab *slab)
{
	slab->run.queued = heap->reclaimed;
	heap->reclaimed = &slab->run;
}

/* Choose slabs of the inbox without other used blocks; the others stay. */
static void reclaim_gather_remote(struct kf_heap *heap, uint32_t *budget)
{
	/* pairs with the release of kf_remote_push() */
	struct kf_run *run =
		__atomic_exchange_n(&heap->inbox, NULL, __ATOMIC_ACQUIRE);
	struct kf_run *next;

	for (; run; run = next) {
		struct kf_slab *slab = reclaim_slab_of(run);
		uint32_t nr = kf_remote_nr(kf_load(&run->remote));

		next = run->queued;
		if (*budget && nr && nr == kf_load(&slab->used) &&
		    run->region) {
			reclaim_push(heap, slab);
			--*budget;
		} else {
			kf_remote_push(heap, slab);
		}
	}
}

/* Choose the sources of bins that have no used block. */
static void reclaim_gather_empty(struct kf_heap *heap)
{
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		struct kf_slab *slab = kf_bin_source(&heap->front.bin[class]);

		if (slab && !kf_load(&slab->used) && slab->run.region)
			reclaim_push(heap, slab);
	}
}

static void reclaim_gather_slabs(struct kf_heap *heap, uint32_t *budget)
{
	reclaim_gather_remote(heap, budget);
	if (heap->idle)
		reclaim_gather_empty(heap);
}

static bool reclaim_is_held(const struct kf_heap *heap)
{
	return heap && kf_load(&heap->held);
}

/* Whether the owner is in a slow path, or has just made the sibling. */
static bool reclaim_is_busy(const struct kf_heap *heap)
{
	const struct kf_heap *marked = kf_marked_of(heap);

	/* pairs with the release of kf_heap_leave() */
	return kf_load_acquire(&heap->busy) ||
	       (marked &&
		(!reclaim_is_held(marked) || kf_load_acquire(&marked->busy)));
}

static void reclaim_end_both(struct kf_heap *heap)
{
	reclaim_end(heap);
	if (reclaim_is_held(kf_marked_of(heap)))
		reclaim_end(kf_marked_of(heap));
}

static void reclaim_gather(struct kf_heap *heap, uint32_t *budget)
{
	struct kf_heap *marked = kf_marked_of(heap);

	reclaim_gather_slabs(heap, budget);
	if (reclaim_is_held(marked))
		reclaim_gather_slabs(marked, budget);
}

/* Empty the remote list of a slab without other used blocks. Returns its
 * length.
 */
static uint32_t reclaim_take_blocks(struct kf_slab *slab)
{
	uint64_t word = kf_remote_take(slab);

	slab->used = 0;
	/* For reclaim_is_sound(): no other thread has a block of the slab. */
	slab->run.remote = word;
	return kf_remote_nr(word);
}

/* Give a block of the block cache back to its slab, as its owner would. */
static void reclaim_return(struct kf_heap *heap, struct kf_slab *slab,
			   void *block)
{
	kf_link_set(block, slab->local);
	slab->local = block;
	slab->used--;
	kf_store(&heap->kept, heap->kept - (int64_t)slab->size);
	kf_heap_stat(heap, KF_SLOT_taken, -slab->size);
	if (slab->owner & KF_SLAB_FULL)
		kf_slab_unretire(heap, slab);
	if (!slab->used && slab->run.region)
		reclaim_push(heap, slab);
}

/* Other heaps' blocks stay in the cache, and so does a list with damage. */
static void reclaim_uncache(struct kf_heap *heap, unsigned int class)
{
	struct kf_cached *cache = &heap->cache[class];
	struct kf_cached others = {0};
	void *block = cache->first, *next;

	if (kf_audit_cached(cache, cache->nr))
		return;
	for (; block; block = next) {
		struct kf_slab *slab = kf_slab_at(block);

		next = kf_link_next(block);
		if (kf_slab_owner(slab) == heap) {
			reclaim_return(heap, slab, block);
			continue;
		}
		kf_link_set(block, others.first);
		others.first = block;
		others.nr++;
	}
	cache->nr = cache->others = others.nr;
	kf_store(&cache->first, others.first);
	/* The block that a sample is due in may be gone. */
	kf_store(&heap->due_at[class], (const void *)NULL);
}

static void reclaim_uncache_all(struct kf_heap *heap)
{
	for (unsigned int class = KF_NR_TINY + 1;
	     heap->kept > 0 && class < KF_NR_CLASSES; class ++)
		reclaim_uncache(heap, class);
}

/* Take the chosen slabs and the run cache. */
static struct kf_run *reclaim_take(struct kf_heap *heap, struct kf_run *list)
{
	struct kf_run *run, *next;
	uint64_t total = 0;

	if (heap->idle)
		reclaim_uncache_all(heap);
	for (run = heap->reclaimed; run; run = next) {
		struct kf_slab *slab = reclaim_slab_of(run);

		next = run->queued;
		total += reclaim_take_blocks(slab);
		kf_slab_forget(heap, slab);
		run->pending = list;
		list = run;
	}
	if (heap->idle)
		list = kf_runs_take_all(heap, list);
	if (total) {
		kf_heap_stat(heap, KF_SLOT_remote_collected, total);
		kf_probe_remote_collect((uintptr_t)heap, total);
	}
	return list;
}

/* Siblings have one slot: the owner may enter neither while one is changed. */
static struct kf_run *reclaim_take_both(struct kf_heap *heap,
					struct kf_run *list)
{
	list = reclaim_take(heap, list);
	if (reclaim_is_held(kf_marked_of(heap)))
		list = reclaim_take(kf_marked_of(heap), list);
	reclaim_end_both(heap);
	return list;
}

/* Let a heap be as if it had not been looked at. */
static void reclaim_leave(struct kf_heap *heap)
{
	heap->idle = false;
	reclaim_end_both(heap);
}

/* Let the owners of busy heaps go on at once: a nested enter waits for it. */
static void reclaim_leave_busy(void)
{
	bool is_barrier = kf_process_membarrier();
	struct kf_heap *heap = NULL;

	while ((heap = kf_arenas_next(heap)) != NULL) {
		if (reclaim_is_held(heap) &&
		    (!is_barrier || reclaim_is_busy(heap)))
			reclaim_leave(heap);
	}
}

/* Leave the chosen slabs to their owner: empty ones are where they were. */
static void reclaim_undo(struct kf_heap *heap)
{
	struct kf_run *run, *next;

	for (run = heap->reclaimed; run; run = next) {
		next = run->queued;
		if (kf_remote_nr(kf_load(&run->remote)))
			kf_remote_push(heap, reclaim_slab_of(run));
	}
}

static void reclaim_undo_all(void)
{
	struct kf_heap *heap = NULL;

	while ((heap = kf_arenas_next(heap)) != NULL) {
		if (!reclaim_is_held(heap))
			continue;
		reclaim_undo(heap);
		if (reclaim_is_held(kf_marked_of(heap)))
			reclaim_undo(kf_marked_of(heap));
		reclaim_leave(heap);
	}
}

static struct kf_run *reclaim_held(uint32_t *budget)
{
	struct kf_heap *heap = NULL;
	struct kf_run *list = NULL;

	reclaim_leave_busy();
	while ((heap = kf_arenas_next(heap)) != NULL) {
		if (reclaim_is_held(heap))
			reclaim_gather(heap, budget);
	}
	/* Another thread may have set a filter of system calls since. */
	if (!kf_process_membarrier())
		reclaim_undo_all();
	while ((heap = kf_arenas_next(heap)) != NULL) {
		if (reclaim_is_held(heap))
			list = reclaim_take_both(heap, list);
	}
	return list;
}

/* Report the first block of a remote list that is not only there. */
static void reclaim_report(const struct kf_slab *slab)
{
	uint32_t nr = kf_remote_nr(slab->run.remote);
	const void *p = kf_remote_first(slab, slab->run.remote);

	for (; nr-- && kf_link_leads_on(p); p = kf_link_next(p)) {
		if (!kf_is_sent(p)) {
			kf_audit_report(KONF_DOUBLE_FREE, p);
			return;
		}
	}
	kf_audit_report(KONF_WRITE_AFTER_FREE, NULL);
}

/*
 * Whether all blocks of a remote list are as they were sent. If the owner freed
 * one of them again, it was taken off the used ones twice, and another block
 * may be live. In order of addresses, which is faster than to follow the list.
 */
static bool reclaim_is_sound(const struct kf_slab *slab)
{
	const char *p = kf_slab_blocks(slab);
	uint32_t nr = 0;

	/* kf_slab_forget() has left the number of carved blocks there. */
	for (uint32_t i = 0; i < slab->capacity; i++, p += slab->size)
		nr += kf_is_sent(p);
	return nr == kf_remote_nr(slab->run.remote);
}

/* Drop the slabs that are not sound from the list, and report them. */
static struct kf_run *reclaim_check(struct kf_run *list)
{
	struct kf_run **link = &list;

	while (*link) {
		struct kf_run *run = *link;
		struct kf_slab *slab = reclaim_slab_of(run);

		if (run->kind != KF_RUN_SLAB || !run->remote ||
		    reclaim_is_sound(slab)) {
			link = &run->pending;
			continue;
		}
		*link = run->pending;
		reclaim_report(slab);
	}
	return list;
}

/* @budget: slabs to reclaim at most; decreases. */
static void reclaim(bool all, uint32_t *budget)
{
	struct kf_run *list = NULL;

	if (!kf_process_has_membarrier() || !kf_arenas_lock())
		return;
	if (reclaim_hold_heaps(all))
		list = reclaim_held(budget);
	kf_arenas_unlock();
	list = reclaim_check(list);
	if (list)
		kf_pages_free_list(list);
}

void kf_heap_reclaim(void)
{
	uint32_t budget = UINT32_MAX;

	reclaim(true, &budget);
}

void kf_heap_reclaim_old(void)
{
	static uint32_t last; /* atomic */
	uint32_t now = kf_now_ms(), budget = SLABS_MAX;

	if (!kf_load(&kf_reclaim_goes_on) && now - kf_load(&last) < PERIOD_MS)
		return;
	kf_store(&last, now);
	reclaim(false, &budget);
	kf_store(&kf_reclaim_goes_on, !budget);
}

void kf_heap_wait(const struct kf_heap *heap)
{
	/* A child without fork handlers lacks the holder. */
	for (int i = 0; kf_load_acquire(&heap->held) && kf_process_is_known();
	     i++) {
		if (i < SPINS)
			kf_cpu_relax();
		else
			kf_process_pause();
	}
}
