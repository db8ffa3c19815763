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

/* Heaps are some KiB apart. */
static struct kf_outbox *box_for(struct kf_heap *heap, const struct kf_heap *to)
{
	return &heap->outbox[((uintptr_t)to / sizeof(*to)) % KF_NR_OUTBOXES];
}

bool kf_heap_send(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	struct kf_heap *to = kf_slab_owner(slab);
	struct kf_outbox *box;

	kf_heap_stat(heap, KF_SLOT_remote_frees, 1);
	if (unlikely(heap->guest)) {
		send(to, p, p);
		return false;
	}
	box = box_for(heap, to);
	if (box->to != to) {
		send_box(box);
		box->to = to;
		box->first = NULL;
		box->last = p;
	}
	*next_of(p) = box->first;
	box->first = p;
	heap->credit -= (int32_t)slab->size;
	if (likely(heap->credit > 0))
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
