/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What hosted engines do, counted as if the default engine had done it.
 *
 * A block counts in the class of its usable size. Where it has less than the
 * class says, the difference is kept, so that live bytes are exact for any
 * engine.
 *
 * @shared says whether other threads count in the slot too, @elsewhere whether
 * the block's memory is not counted as held; sizes are usable bytes but for
 * @asked.
 */
#ifndef KF_CORE_TALLY_H
#define KF_CORE_TALLY_H

#include "engine/class.h"
#include "engine/heap.h"
#include "stats/stats.h"

static __always_inline_kf void kf_tally_add(uint64_t *word, uint64_t n,
					    bool shared)
{
	if (shared) {
		__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
		return;
	}
	*word += n;
	kf_stays_alone(*word);
}

/*
 * One of a small class, which has @slack bytes more than the block; as
 * kf_tally_gone() and kf_tally_new().
 */
static __always_inline_kf void
kf_tally_small_gone(struct kf_slot *slot, bool shared, unsigned int class,
		    size_t usable, size_t slack, bool elsewhere)
{
	kf_tally_add(&slot->class[class].frees, 1, shared);
	if (elsewhere)
		kf_tally_add(&slot->scalar[KF_SLOT_elsewhere], -usable, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_class_slack], -slack, shared);
}

static __always_inline_kf void
kf_tally_small_new(struct kf_slot *slot, bool shared, unsigned int class,
		   size_t asked, size_t usable, size_t slack, bool elsewhere)
{
	kf_tally_add(&slot->class[class].mallocs, 1, shared);
	if (elsewhere)
		kf_tally_add(&slot->scalar[KF_SLOT_elsewhere], usable, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_class_slack], slack, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_asked_sample], asked, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_given_sample], usable, shared);
}

/**
 * kf_tally_gone() - count a block that goes
 * @slot:	where
 * @shared:	see above
 * @usable:	likewise
 * @elsewhere:	likewise
 *
 * Context: the slot's thread, or any where it is shared.
 */
static __always_inline_kf void kf_tally_gone(struct kf_slot *slot, bool shared,
					     size_t usable, bool elsewhere)
{
	unsigned int class;
	size_t bytes;

	if (likely(usable <= KF_SMALL_MAX)) {
		class = kf_class_around(usable, &bytes);
		kf_tally_small_gone(slot, shared, class, usable, bytes - usable,
				    elsewhere);
		return;
	}
	kf_tally_add(&slot->class[0].frees, 1, shared);
	if (elsewhere)
		kf_tally_add(&slot->scalar[KF_SLOT_elsewhere], -usable, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_large_freed], usable, shared);
}

/**
 * kf_tally_new() - count a block that comes
 * @slot:	where
 * @shared:	see above
 * @asked:	likewise
 * @usable:	likewise
 * @elsewhere:	likewise
 *
 * Context: as kf_tally_gone().
 */
static __always_inline_kf void kf_tally_new(struct kf_slot *slot, bool shared,
					    size_t asked, size_t usable,
					    bool elsewhere)
{
	unsigned int class;
	size_t bytes;

	if (likely(usable <= KF_SMALL_MAX)) {
		class = kf_class_around(usable, &bytes);
		kf_tally_small_new(slot, shared, class, asked, usable,
				   bytes - usable, elsewhere);
		return;
	}
	kf_tally_add(&slot->class[0].mallocs, 1, shared);
	if (elsewhere)
		kf_tally_add(&slot->scalar[KF_SLOT_elsewhere], usable, shared);
	kf_tally_add(&slot->scalar[KF_SLOT_large_allocated], usable, shared);
}

/**
 * kf_tally_heap_gone() - count a block that goes in a thread's heap
 * @heap:	the thread's; without a slot of its own it shares one
 * @usable:	see above
 * @elsewhere:	likewise
 *
 * Context: the heap's thread.
 */
static inline void kf_tally_heap_gone(struct kf_heap *heap, size_t usable,
				      bool elsewhere)
{
	if (unlikely(!heap->has_slot))
		kf_tally_gone(heap->slot, true, usable, elsewhere);
	else
		kf_tally_gone(heap->slot, false, usable, elsewhere);
}

/**
 * kf_tally_heap_new() - count a block that comes in a thread's heap
 * @heap:	as for kf_tally_heap_gone()
 * @asked:	see above
 * @usable:	likewise
 * @elsewhere:	likewise
 *
 * Context: the heap's thread.
 */
static inline void kf_tally_heap_new(struct kf_heap *heap, size_t asked,
				     size_t usable, bool elsewhere)
{
	if (unlikely(!heap->has_slot))
		kf_tally_new(heap->slot, true, asked, usable, elsewhere);
	else
		kf_tally_new(heap->slot, false, asked, usable, elsewhere);
}

#endif
