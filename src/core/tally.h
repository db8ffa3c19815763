/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What hosted engines do, counted as if the default engine had done it.
 *
 * A block counts in the class of its usable size. Where it has less than the
 * class says, the difference is kept, so that live bytes are exact for any
 * engine.
 */
#ifndef KF_CORE_TALLY_H
#define KF_CORE_TALLY_H

#include "engine/heap.h"

static inline unsigned int kf_tally_class(size_t usable)
{
	return usable <= KF_SMALL_MAX ? kf_class_of(usable) : 0;
}

static inline struct kf_stats_pair *kf_tally_pair(struct kf_heap *heap,
						  unsigned int class)
{
	return &heap->slot->class[class];
}

/* A block came; class 0, the large ones, counts bytes by itself. */
static inline void kf_tally_in(struct kf_heap *heap, size_t usable,
			       bool elsewhere)
{
	unsigned int class = kf_tally_class(usable);

	kf_heap_count(heap, &kf_tally_pair(heap, class)->mallocs, 1);
	if (likely(class))
		kf_heap_stat(heap, KF_SLOT_class_slack,
			     kf_class_bytes(class) - usable);
	else
		kf_heap_stat(heap, KF_SLOT_large_allocated, usable);
	if (elsewhere)
		kf_heap_stat(heap, KF_SLOT_elsewhere, usable);
}

/**
 * kf_tally_gone() - count a block that goes
 * @heap:	who counts
 * @usable:	bytes of it
 * @elsewhere:	whether its memory is not counted as held
 *
 * Context: the heap's thread.
 */
static inline void kf_tally_gone(struct kf_heap *heap, size_t usable,
				 bool elsewhere)
{
	unsigned int class = kf_tally_class(usable);

	kf_heap_count(heap, &kf_tally_pair(heap, class)->frees, 1);
	if (likely(class))
		kf_heap_stat(heap, KF_SLOT_class_slack,
			     usable - kf_class_bytes(class));
	else
		kf_heap_stat(heap, KF_SLOT_large_freed, usable);
	if (elsewhere)
		kf_heap_stat(heap, KF_SLOT_elsewhere, -usable);
}

static inline void kf_tally_asked(struct kf_heap *heap, size_t asked,
				  size_t usable)
{
	if (usable > KF_SMALL_MAX)
		return;
	kf_heap_stat(heap, KF_SLOT_asked_sample, asked);
	kf_heap_stat(heap, KF_SLOT_given_sample, usable);
}

/**
 * kf_tally_new() - count a block that comes
 * @heap:	who counts
 * @asked:	bytes asked
 * @usable:	bytes of it
 * @elsewhere:	as kf_tally_gone()
 *
 * Context: the heap's thread.
 */
static inline void kf_tally_new(struct kf_heap *heap, size_t asked,
				size_t usable, bool elsewhere)
{
	kf_tally_in(heap, usable, elsewhere);
	kf_tally_asked(heap, asked, usable);
}

/**
 * kf_tally_resized() - count a block that an engine gave another size
 * @heap:	who counts
 * @had:	usable bytes before
 * @asked:	bytes asked
 * @usable:	usable bytes now
 * @moved:	whether it is at another address
 * @elsewhere:	as kf_tally_gone()
 *
 * For readers the block lives on: those that count here twice are told apart
 * by the last two words.
 *
 * Context: the heap's thread.
 */
static inline void kf_tally_resized(struct kf_heap *heap, size_t had,
				    size_t asked, size_t usable, bool moved,
				    bool elsewhere)
{
	if (!moved && usable == had)
		return;
	kf_tally_gone(heap, had, elsewhere);
	kf_tally_new(heap, asked, usable, elsewhere);
	kf_heap_stat(heap, moved ? KF_SLOT_realloc_moved : KF_SLOT_reclassed,
		     1);
}

#endif
