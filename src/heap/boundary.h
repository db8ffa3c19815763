/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sample boundaries: where a bin is cut so that a sampled malloc finds it
 * empty.
 *
 * The blocks of a bin are charged to the heap's countdown when the bin is
 * filled, and a block of the block cache when it is handed out. The bin is cut
 * before the block that a sample falls on, so the fast path needs no test for
 * samples. The blocks behind the cut go back to the slab or to the block cache.
 * While a sample of a class is due, no path hands out a block of the class;
 * core/sampling.c takes the sample and ends this.
 */
#ifndef KF_HEAP_BOUNDARY_H
#define KF_HEAP_BOUNDARY_H

#include "heap/heap.h"

/* Whether the next block of a class has to be sampled; its bin is empty. */
static inline bool kf_heap_sample_is_due(const struct kf_heap *heap,
					 unsigned int class)
{
	return unlikely(heap->due[class] ==
			__atomic_load_n(&kf_sample_epoch, __ATOMIC_RELAXED));
}

/**
 * kf_heap_bound() - charge a bin's new blocks and cut it before the next sample
 * @heap:	the heap
 * @offset:	of the bin, in bytes
 * @nr:		number of blocks in the bin
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: number of blocks left. If it is less than @nr, a sample is due when
 *	   these blocks are gone.
 */
uint32_t kf_heap_bound(struct kf_heap *heap, size_t offset, uint32_t nr);

/**
 * kf_slab_untake() - undo kf_slab_take() for the last blocks of a bin
 * @slab:	the slab
 * @first:	first of the blocks, linked
 * @nr:		number of blocks
 *
 * Context: the heap's owner, right after kf_slab_take().
 */
void kf_slab_untake(struct kf_slab *slab, void *first, uint32_t nr);

#endif
