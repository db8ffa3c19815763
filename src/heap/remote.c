/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that a thread frees and another heap owns.
 *
 * The freeing heap first keeps such blocks in its block cache and hands them
 * out again. So threads that free about as much as they allocate need not send
 * anything, and memory does not grow while an owner sleeps. Other blocks are
 * queued in outboxes, one list for each owner. A list is sent by one compare
 * and swap, as in snmalloc ("snmalloc: a message passing allocator", ISMM
 * 2019). The owner takes its whole inbox by one exchange and puts each block
 * into its slab. Until then the blocks count as used, so no slab goes away
 * while one of its blocks is in a cache, an outbox or an inbox.
 *
 * The budget of a heap bounds the bytes of other heaps' blocks that it holds.
 * When the budget is used up, all such blocks are sent to their owners, and the
 * heap caches none until a bin finds no block in the heap's own slabs.
 */
#include "heap/remote.h"

#include "heap/audit.h"
#include "heap/marked.h"

#include "probes/konfiscator-probes.h"

bool kf_cache_used;
bool kf_cache_barred;

/* Blocks larger than KF_BUDGET divided by this are not cached. */
#define BUDGET_SHARE 4

/*
 * In the second word, where other free blocks have their key, a queued block
 * has the address of the block that comes KF_PREFETCH_DISTANCE later in the
 * list, or NULL. The owner prefetches that block when it walks the list, and
 * free() recognizes a block that was sent already by this word.
 */
static inline void remote_set_later(void *block, const void *later)
{
	*kf_slab_key(block) = kf_remote_code(later);
}

static void remote_send(struct kf_heap *to, void *first, void *last)
{
	void *old = __atomic_load_n(&to->inbox, __ATOMIC_RELAXED);

	do {
		kf_link_set(last, old);
	} while (!__atomic_compare_exchange_n(&to->inbox, &old, first, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void remote_send_outbox(struct kf_outbox *box)
{
	if (box->to)
		remote_send(box->to, box->first, box->last);
	box->to = NULL;
}

static __noinline void remote_change_outbox(struct kf_outbox *box,
					    struct kf_heap *to, void *p)
{
	remote_send_outbox(box);
	*box = (struct kf_outbox){.to = to, .last = p};
}

static inline void remote_queue(struct kf_heap *heap, struct kf_heap *to,
				void *p)
{
	/* The addresses of heaps differ by about a page. */
	size_t i = ((uintptr_t)to >> KF_PAGE_SHIFT) % KF_NR_OUTBOXES;
	struct kf_outbox *box = &heap->outbox[i];

	if (unlikely(box->to != to))
		remote_change_outbox(box, to, p);
	kf_link_set(p, box->first);
	remote_set_later(p, box->window[box->nr % KF_PREFETCH_DISTANCE]);
	box->window[box->nr++ % KF_PREFETCH_DISTANCE] = p;
	box->first = p;
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
			remote_queue(heap, kf_slab_owner(slab), block);
	}
	return nr;
}

static void remote_queue_class(struct kf_heap *heap, unsigned int class)
{
	struct kf_cached *cache = &heap->cache[class];
	void *first = cache->first;

	*cache = (struct kf_cached){NULL, 0};
	remote_queue_list(heap, first);
}

void kf_remote_send_all(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_CLASSES; i++)
		remote_queue_class(heap, i);
	for (unsigned int i = 0; i < KF_NR_OUTBOXES; i++)
		remote_send_outbox(&heap->outbox[i]);
	heap->budget = heap->budget_max;
}

void kf_cache_drop(struct kf_heap *heap)
{
	for (unsigned int i = KF_NR_TINY + 1; i < KF_NR_CLASSES; i++) {
		heap->budget +=
			(int64_t)(heap->cache[i].nr * kf_class_bytes(i));
		remote_queue_class(heap, i);
	}
}

uint32_t kf_cache_flush(struct kf_heap *heap, struct kf_bin *bin)
{
	uint32_t nr = remote_queue_list(heap, kf_bin_first(bin));

	heap->due[bin - heap->front.bin] = 0;
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

static __noinline void remote_end_reuse(struct kf_heap *heap)
{
	heap->reuse = false;
	kf_remote_send_all(heap);
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
		remote_queue(heap, kf_slab_owner(slab), p);
	if (likely(heap->budget > 0))
		return true;
	remote_end_reuse(heap);
	return false;
}

uint32_t kf_cache_take(struct kf_heap *heap, size_t offset)
{
	struct kf_cached *cache = (void *)((char *)heap->cache + offset);
	struct kf_bin *bin = (void *)((char *)heap->front.bin + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*bin));
	uint32_t nr = (uint32_t)cache->nr;

	if (!nr || (class > KF_NR_TINY && !kf_audit_cache(heap, class)))
		return 0;
	*bin = (struct kf_bin){kf_link_code(cache->first), KF_BIN_CACHED};
	*cache = (struct kf_cached){NULL, 0};
	heap->budget += (int64_t)(nr * kf_class_bytes(class));
	return nr;
}

void kf_cache_restore(struct kf_heap *heap, size_t offset, void *first,
		      uint32_t nr)
{
	struct kf_cached *cache = (void *)((char *)heap->cache + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*cache));

	*cache = (struct kf_cached){first, nr};
	heap->budget -= (int64_t)(nr * kf_class_bytes(class));
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
	}
	kf_heap_leave(heap);
	kf_pages_release_deferred();
}

bool kf_remote_free(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	kf_self_stat(KF_SLOT_remote_frees, 1);
	if (unlikely(!heap)) {
		remote_set_later(p, NULL);
		remote_send(kf_slab_owner(slab), p, p);
		return false;
	}
	return remote_take(heap, slab, p);
}

void kf_remote_collect(struct kf_heap *heap)
{
	uint64_t total = 0;
	void *block, *next;

	if (unlikely(__atomic_load_n(&heap->suspect, __ATOMIC_RELAXED)))
		kf_audit_judge(heap);
	if (!__atomic_load_n(&heap->inbox, __ATOMIC_RELAXED))
		return;
	/* pairs with the release of remote_send() */
	block = __atomic_exchange_n(&heap->inbox, NULL, __ATOMIC_ACQUIRE);
	heap->inbox_snapshot = NULL;
	for (; block; block = next) {
		struct kf_run *run = kf_map_peek(block);

		__builtin_prefetch(kf_remote_later(block), 1);
		/*
		 * The owner freed the block again after it was sent. The block
		 * is in its slab's list, and its link leads through that list:
		 * the rest of the inbox is lost.
		 */
		if (unlikely(*kf_slab_key(block) == (uintptr_t)heap)) {
			kf_audit_report(KONF_DOUBLE_FREE, block);
			break;
		}
		/* A report of a damaged link must not find a sent block. */
		*kf_slab_key(block) = 0;
		next = kf_audit_next(block);
		kf_slab_return(heap, kf_container_of(run, struct kf_slab, run),
			       block);
		total++;
	}
	kf_heap_stat(heap, KF_SLOT_remote_collected, total);
	kf_probe_remote_collect((uintptr_t)heap, total);
}
