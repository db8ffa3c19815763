/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks freed by a thread that does not own them.
 *
 * They gather in outboxes, one list for each owner, and are sent together:
 * one compare and swap a list, as in snmalloc ("snmalloc: a message passing
 * allocator", ISMM 2019). The owner takes its whole inbox with one exchange
 * and puts each block into its slab. Until then the blocks are used, so no
 * slab goes while one of its blocks is on the way.
 *
 * What may wait in a heap's outboxes is bounded by its credit.
 */
#include "engine/heap.h"

#include "probes/konfiscator-probes.h"

#define CREDIT 8192

static inline void **next_of(void *block)
{
	return block;
}

static void send(struct kf_heap *to, void *first, void *last)
{
	void *old = __atomic_load_n(&to->inbox, __ATOMIC_RELAXED);

	do {
		*next_of(last) = old;
	} while (!__atomic_compare_exchange_n(&to->inbox, &old, first, true,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void send_box(struct kf_outbox *box)
{
	if (box->to)
		send(box->to, box->first, box->last);
	box->to = NULL;
}

void kf_heap_send_all(struct kf_heap *heap)
{
	for (unsigned int i = 0; i < KF_NR_OUTBOXES; i++)
		send_box(&heap->outbox[i]);
	heap->credit = CREDIT;
}

static __noinline void change_box(struct kf_outbox *box, struct kf_heap *to,
				  void *p)
{
	send_box(box);
	box->to = to;
	box->first = NULL;
	box->last = p;
}

/* Returns false when the credit is used up. */
static inline bool put(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	struct kf_heap *to = kf_slab_owner(slab);
	/* Heaps are nearly a page apart. */
	size_t i = ((uintptr_t)to >> KF_PAGE_SHIFT) % KF_NR_OUTBOXES;
	struct kf_outbox *box = &heap->outbox[i];

	if (unlikely(box->to != to))
		change_box(box, to, p);
	*next_of(p) = box->first;
	box->first = p;
	heap->credit -= (int32_t)slab->size;
	return heap->credit > 0;
}

void kf_heap_give(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	kf_heap_enter(heap);
	kf_heap_pair(heap, slab->pair)->frees++;
	if (likely(kf_slab_owner(slab) != heap)) {
		heap->slot->scalar[KF_SLOT_remote_frees]++;
		if (unlikely(!put(heap, slab, p)))
			kf_heap_send_all(heap);
	} else {
		kf_slab_return(heap, slab, p);
	}
	kf_heap_leave(heap);
}

bool kf_heap_send(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	kf_heap_stat(heap, KF_SLOT_remote_frees, 1);
	if (unlikely(heap->guest)) {
		send(kf_slab_owner(slab), p, p);
		return false;
	}
	if (likely(put(heap, slab, p)))
		return true;
	kf_heap_send_all(heap);
	return false;
}

void kf_heap_collect(struct kf_heap *heap)
{
	uint64_t total = 0;
	void *block, *next;

	if (!__atomic_load_n(&heap->inbox, __ATOMIC_RELAXED))
		return;
	/* pairs with the release of send() */
	block = __atomic_exchange_n(&heap->inbox, NULL, __ATOMIC_ACQUIRE);
	for (; block; block = next) {
		struct kf_run *run = kf_map_get(block);

		next = *next_of(block);
		kf_slab_return(heap, kf_container_of(run, struct kf_slab, run),
			       block);
		total++;
	}
	kf_heap_stat(heap, KF_SLOT_remote_collected, total);
	kf_probe_remote_collect((uintptr_t)heap, total);
}
