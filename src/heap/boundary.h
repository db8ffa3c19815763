/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a sample comes among the blocks of a bin.
 *
 * A bin's blocks are charged to the heap's countdown when they come in, and end
 * before the one that a sample falls on: so the malloc that is to be the sample
 * finds an empty bin, and the fast path needs no test. What was cut off goes
 * back to where it came from. Until the sample is taken its class has nothing
 * to give on any path; who takes it (core/sampling.c) ends that.
 */
#ifndef KF_HEAP_BOUNDARY_H
#define KF_HEAP_BOUNDARY_H

#include "heap/heap.h"

/* Whether the next block of a class is to be a sample; its bin is empty. */
static inline bool kf_heap_sample_is_due(const struct kf_heap *heap,
					 unsigned int class)
{
	return unlikely(heap->due[class] ==
			__atomic_load_n(&kf_sample_epoch, __ATOMIC_RELAXED));
}

/**
 * kf_heap_bound() - charge a bin's fresh blocks, end it before the next sample
 * @heap:	the heap
 * @offset:	the class, times 16
 * @nr:		blocks in the bin
 *
 * What is cut off goes back to where it came from.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: blocks that are left; where it is fewer than @nr a sample is due
 *	   once these are gone.
 */
uint32_t kf_heap_bound(struct kf_heap *heap, size_t offset, uint32_t nr);

/**
 * kf_slab_untake() - undo kf_slab_take() for the last blocks of a list
 * @slab:	the slab
 * @first:	of these, linked
 * @nr:		how many
 *
 * Context: the heap's owner, right after kf_slab_take().
 */
void kf_slab_untake(struct kf_slab *slab, void *first, uint32_t nr);

#endif
