/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that a thread frees and another heap owns.
 *
 * The freeing heap first keeps such blocks in its block cache and hands them
 * out again. So threads that free about as much as they allocate need not send
 * anything, and memory does not grow while an owner sleeps. Other blocks are
 * queued in outboxes, one for a slab, and a list is sent by one compare and
 * swap to the slab, as in rpmalloc: the slab's word @remote has the first block
 * and the number of all. The thread that makes this word other than 0 pushes
 * the slab to the inbox of its heap. The owner takes its whole inbox by one
 * exchange and the list of each slab by another. Until then the blocks count as
 * used, so no slab goes away while one of its blocks is in a cache, an outbox
 * or a remote list. If all used blocks of a slab are in its remote list, other
 * threads may reclaim the slab: reclaim.h.
 *
 * The budget of a heap bounds the bytes of other heaps' blocks that it holds.
 * When the budget is used up, all such blocks are sent to their owners, and the
 * heap caches none until a bin finds no block in the heap's own slabs. Medium
 * blocks of the heap's own are in the same cache, with a bound of their own
 * (@kept_max).
 */
#include "heap/remote.h"

#include "heap/audit.h"
#include "heap/marked.h"

#include "probes/konfiscator-probes.h"

bool kf_cache_used;
bool kf_cache_barred;

/* Medium blocks that a bin takes from the cache at a time. */
#define MEDIUM_TAKEN 8u

/* Blocks larger than KF_BUDGET divided by this are not cached. */
#define BUDGET_SHARE 4

uint32_t kf_remote_epoch;

void kf_remote_push(struct kf_heap *to, struct kf_slab *slab)
{
	struct kf_run *old = kf_load(&to->inbox);

	do {
		slab->run.queued = old;
	} while (!__atomic_compare_exchange_n(&to->inbox, &old, &slab->run,
					      true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/*
 * The slab does not go away before it is in the inbox: its blocks are used, and
 * only the remote lists of slabs from the inbox are taken.
 */
static void remote_send_outbox(struct kf_outbox *box)
{
	struct kf_slab *slab = box->slab;
	uint64_t old, word;

	if (!slab)
		return;
	if (box->size > KF_TINY_MAX)
		kf_self_stat(KF_SLOT_taken, -(uint64_t)box->nr * box->size);
	old = kf_load(&slab->run.remote);
	/* pairs with kf_remote_take() */
	do {
		uint64_t nr = kf_remote_nr(old) + box->nr;

		kf_link_set(box->last, kf_remote_first(slab, old));
		word = kf_remote_word(slab, box->first, nr);
	} while (!__atomic_compare_exchange_n(&slab->run.remote, &old, word,
					      true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	box->slab = NULL;
	if (!kf_remote_nr(old))
		kf_remote_push(kf_slab_owner(slab), slab);
}

static __noinline void remote_change_outbox(struct kf_outbox *box,
					    struct kf_slab *slab, void *p)
{
	remote_send_outbox(box);
	*box = (struct kf_outbox){
		.slab = slab, .last = p, .size = (uint32_t)slab->size};
}

/* Blocks of a class that are freed one after the other are often of one slab.
 */
static inline void remote_queue(struct kf_heap *heap, struct kf_slab *slab,
				void *p)
{
	size_t i = kf_slab_class(slab) % KF_NR_OUTBOXES;
	struct kf_outbox *box = &heap->outbox[i];

	if (unlikely(box->slab != slab))
		remote_change_outbox(box, slab, p);
	kf_link_set(p, box->first);
	*kf_slab_key(p) = kf_sent_key(p);
	box->first = p;
	box->nr++;
}

/* Account for blocks that left the cache, @others of them other heaps'. */
static void remote_uncharge(struct kf_heap *heap, unsigned int class,
			    int64_t nr, int64_t others)
{
	int64_t bytes = (int64_t)kf_class_bytes(class);

	heap->kept -= (nr - others) * bytes;
	heap->budget += others * bytes;
}

/*
 * Queue each block of a list for its owner; a block of the heap's own goes to
 * its slab. Returns the number of blocks.
 */
static uint32_t remote_queue_list(struct kf_heap *heap, void *block)
{
	uint32_t nr = 0;
	void *next;

	for (; block; block = next, nr++) {
		struct kf_slab *slab = kf_slab_at(block);

		next = kf_audit_next(block);
		if (kf_slab_owner(slab) == heap)
			kf_slab_return(heap, slab, block);
		else
			remote_queue(heap, slab, block);
	}
	return nr;
}

void kf_cache_forget(struct kf_heap *heap, unsigned int class)
{
	struct kf_cached *cache = &heap->cache[class];

	remote_uncharge(heap, class, cache->nr, cache->others);
	*cache = (struct kf_cached){0};
}

static void remote_queue_class(struct kf_heap *heap, unsigned int class)
{
	void *first = heap->cache[class].first;

	if (!first)
		return;
	kf_cache_forget(heap, class);
	/* The block that a sample is due in may be another heap's now. */
	heap->due_at[class] = NULL;
	remote_queue_list(heap, first);
}

static void remote_send_outboxes(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_OUTBOXES; i++) {
		if (heap->outbox[i].slab)
			remote_send_outbox(&heap->outbox[i]);
	}
	heap->budget = KF_BUDGET;
}

void kf_remote_send_all(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		remote_queue_class(heap, i);
	remote_send_outboxes(heap);
}

void kf_cache_drop(struct kf_heap *heap)
{
	for (unsigned int i = KF_NR_TINY + 1; i < KF_NR_CLASSES; i++)
		remote_queue_class(heap, i);
}

uint32_t kf_cache_flush(struct kf_heap *heap, struct kf_bin *bin)
{
	uint32_t nr = remote_queue_list(heap, kf_bin_first(bin));
	unsigned int class = (unsigned int)(bin - heap->front.bin);

	heap->due[class] = 0;
	kf_heap_untake_tiny(heap, class, nr);
	*bin = (struct kf_bin){kf_link_code(NULL), 0};
	return nr;
}

void kf_remote_send_cached(struct kf_heap *heap)
{
	kf_heap_enter(heap);
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		if (heap->front.bin[class].source & KF_BIN_CACHED)
			kf_cache_flush(heap, &heap->front.bin[class]);
	}
	heap->reuse = false;
	kf_remote_send_all(heap);
	kf_heap_leave(heap);
}

/* Classes in which all cached blocks are the heap's own keep them. */
static __noinline void remote_end_reuse(struct kf_heap *heap)
{
	heap->reuse = false;
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++) {
		if (heap->cache[i].others)
			remote_queue_class(heap, i);
	}
	remote_send_outboxes(heap);
}

static inline void remote_cache(struct kf_heap *heap,
				const struct kf_slab *slab, void *p)
{
	struct kf_cached *cache =
		(void *)((char *)heap->cache + kf_slab_bin_offset(slab));

	if (unlikely(!__atomic_load_n(&kf_cache_used, __ATOMIC_RELAXED)))
		__atomic_store_n(&kf_cache_used, true, __ATOMIC_RELAXED);
	kf_link_set(p, cache->first);
	*kf_slab_key(p) = (uintptr_t)kf_slab_owner(slab);
	cache->first = p;
	cache->nr++;
	cache->others++;
}

/* Cache or queue a block. Returns false when the budget is used up. */
static __always_inline_kf bool remote_take(struct kf_heap *heap,
					   struct kf_slab *slab, void *p)
{
	heap->budget -= (int64_t)slab->size;
	if (heap->reuse && slab->size <= KF_BUDGET / BUDGET_SHARE &&
	    !kf_slab_has_marks(slab))
		remote_cache(heap, slab, p);
	else
		remote_queue(heap, slab, p);
	if (likely(heap->budget > 0))
		return true;
	remote_end_reuse(heap);
	return false;
}

/* Other heaps' blocks in a list of cached ones; tiny ones are all theirs. */
static uint32_t remote_count_others(const struct kf_heap *heap,
				    unsigned int class, void *block,
				    uint32_t nr)
{
	uint32_t others = 0;

	if (class <= KF_NR_TINY)
		return nr;
	for (; block; block = kf_link_next(block))
		others += *kf_slab_key(block) != (uintptr_t)heap;
	return others;
}

static void *remote_last(void *block)
{
	void *next;

	while ((next = kf_link_next(block)) != NULL)
		block = next;
	return block;
}

/* Take the first @nr blocks, which are medium and whole, off the cache. */
static void *remote_cut(struct kf_heap *heap, unsigned int class, uint32_t nr)
{
	struct kf_cached *cache = &heap->cache[class];
	void *first = cache->first, *last = first;
	uint32_t others;

	for (uint32_t i = 1; i < nr; i++)
		last = kf_link_next(last);
	cache->first = kf_link_next(last);
	kf_link_set(last, NULL);
	others = remote_count_others(heap, class, first, nr);
	cache->nr -= nr;
	cache->others -= others;
	remote_uncharge(heap, class, nr, others);
	return first;
}

uint32_t kf_cache_take(struct kf_heap *heap, size_t offset)
{
	struct kf_bin *bin = (void *)((char *)heap->front.bin + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*bin));
	uint32_t nr = heap->cache[class].nr;
	void *first = heap->cache[class].first;

	if (!nr)
		return 0;
	if (class <= KF_NR_TINY) {
		kf_cache_forget(heap, class);
	} else {
		nr = KF_MIN(nr, MEDIUM_TAKEN);
		if (!kf_audit_cache(heap, class, nr))
			return 0;
		first = remote_cut(heap, class, nr);
	}
	*bin = (struct kf_bin){kf_link_code(first), KF_BIN_CACHED};
	return nr;
}

void kf_cache_restore(struct kf_heap *heap, size_t offset, void *first,
		      uint32_t nr)
{
	struct kf_cached *cache = (void *)((char *)heap->cache + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*cache));
	uint32_t others = remote_count_others(heap, class, first, nr);

	remote_uncharge(heap, class, -(int64_t)nr, -(int64_t)others);
	if (cache->first)
		kf_link_set(remote_last(first), cache->first);
	cache->first = first;
	cache->nr += nr;
	cache->others += others;
}

void kf_heap_free_small(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	struct kf_heap *owner = kf_slab_owner(slab);

	if (kf_slab_has_marks(slab))
		kf_mark_leave(slab, p);
	kf_heap_enter(heap);
	kf_slot_pair(heap->front.slot, kf_slab_bin_offset(slab))->frees++;
	if (likely(owner != heap && owner != heap->marked)) {
		heap->front.slot->scalar[KF_SLOT_remote_frees]++;
		remote_take(heap, slab, p);
	} else {
		kf_slab_return(owner, slab, p);
		kf_heap_flush_drained(heap);
	}
	kf_heap_leave(heap);
	kf_pages_release_deferred();
}

bool kf_remote_free(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	kf_self_stat(KF_SLOT_remote_frees, 1);
	if (unlikely(!heap)) {
		struct kf_outbox box = {slab, p, p, 1, (uint32_t)slab->size};

		*kf_slab_key(p) = kf_sent_key(p);
		remote_send_outbox(&box);
		return false;
	}
	return remote_take(heap, slab, p);
}

/*
 * Put the remote blocks of a slab before those of its local list. Returns their
 * number. The rest is lost where the owner freed a block again after it was
 * sent, as the block's link leads through the local list then, and where a link
 * is damaged.
 */
static uint32_t remote_collect_list(struct kf_heap *heap, struct kf_slab *slab,
				    void *first, uint32_t nr)
{
	void *block = first, *last = NULL, *next;
	uint32_t done = 0;

	for (; block && done < nr; block = next, done++) {
		if (unlikely(*kf_slab_key(block) == (uintptr_t)heap)) {
			kf_audit_report(KONF_DOUBLE_FREE, block);
			break;
		}
		*kf_slab_key(block) = (uintptr_t)heap;
		next = kf_audit_next(block);
		last = block;
	}
	if (last) {
		kf_link_set(last, slab->local);
		slab->local = first;
		slab->used = (uint16_t)(slab->used - done);
	}
	return done;
}

static uint32_t remote_collect_slab(struct kf_heap *heap, struct kf_slab *slab)
{
	uint64_t word = kf_remote_take(slab);
	uint32_t nr = remote_collect_list(
		heap, slab, kf_remote_first(slab, word), kf_remote_nr(word));

	if (nr && slab->owner & KF_SLAB_FULL)
		kf_slab_unretire(heap, slab);
	if (nr && !slab->used)
		kf_slab_emptied(heap, slab);
	return nr;
}

bool kf_remote_is_pending(const struct kf_heap *heap)
{
	const struct kf_heap *marked = kf_marked_of(heap);

	return kf_load(&heap->inbox) || kf_load(&heap->suspect) ||
	       (marked && kf_load(&marked->inbox));
}

void kf_remote_collect(struct kf_heap *heap)
{
	struct kf_run *run, *next;
	uint64_t total = 0;

	if (unlikely(kf_load(&heap->suspect)))
		kf_audit_judge(heap);
	if (!kf_load(&heap->inbox))
		return;
	/* pairs with the release of kf_remote_push() */
	run = __atomic_exchange_n(&heap->inbox, NULL, __ATOMIC_ACQUIRE);
	for (; run; run = next) {
		next = run->queued;
		total += remote_collect_slab(
			heap, kf_container_of(run, struct kf_slab, run));
	}
	kf_heap_stat(heap, KF_SLOT_remote_collected, total);
	kf_probe_remote_collect((uintptr_t)heap, total);
}

/*
 * The fork's locks keep all but the forking thread from taking what is noted,
 * and blocks that are sent later do not change the links of those sent before.
 */
void kf_remote_note(struct kf_heap *heap)
{
	struct kf_run *run;

	/* pairs with the release of kf_remote_push() */
	heap->inbox_at_fork = kf_load_acquire(&heap->inbox);
	for (run = heap->inbox_at_fork; run; run = run->queued) {
		/* pairs with the release of remote_send_outbox() */
		uint64_t word = kf_load_acquire(&run->remote);

		run->remote_at_fork = kf_remote_nr(word) ? word : 0;
	}
}

void kf_remote_restore(struct kf_heap *heap)
{
	struct kf_run *run, *next;

	heap->inbox = NULL;
	for (run = heap->inbox_at_fork; run; run = next) {
		next = run->queued;
		run->remote = kf_remote_renew(run->remote_at_fork);
		if (kf_remote_nr(run->remote))
			kf_remote_push(heap, kf_container_of(
						     run, struct kf_slab, run));
	}
}

void kf_remote_forget_noted(struct kf_heap *heap)
{
	/* Few have any: a store would have the kernel copy a page. */
	if (heap->inbox_at_fork)
		heap->inbox_at_fork = NULL;
}
