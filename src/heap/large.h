/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Large blocks, above KF_SMALL_MAX: a run of pages each, or a mapping of its
 * own from the mmap threshold on.
 */
#ifndef KF_HEAP_LARGE_H
#define KF_HEAP_LARGE_H

#include "heap/heap.h"

/* Settings of large blocks; mallopt changes them too. */
struct kf_large_conf {
	size_t mmap_threshold;	/* bytes; atomic */
	size_t mmap_max;	/* mapped blocks at most */
	bool dynamic;		/* frees of mapped blocks move the thresholds */
	unsigned int arena_max; /* thread heaps at most, 0: no limit */
};

extern struct kf_large_conf kf_large_conf;

/**
 * kf_large_alloc() - a block of whole pages
 * @heap:	the calling thread's, or NULL
 * @size:	bytes asked, not 0
 * @align:	power of two
 * @zeroed:	whether it must read as zeroes
 *
 * Fires large_alloc.
 *
 * Context: any thread.
 * Return: the block, or NULL when the kernel has no more.
 */
void *kf_large_alloc(struct kf_heap *heap, size_t size, size_t align,
		     bool zeroed) __must_check;

/**
 * kf_large_reuse() - take a large block from the run cache
 * @heap:	the calling thread's
 * @size:	bytes asked, above KF_SMALL_MAX
 *
 * Fires large_alloc.
 *
 * Context: any thread.
 * Return: the block's run, counted, or NULL: take the slow path.
 */
struct kf_run *kf_large_reuse(struct kf_heap *heap, size_t size) __must_check;

/**
 * kf_large_may_free() - whether kf_large_free() may be called without checks
 * @heap:	the calling thread's
 * @run:	the run that the address map has for @p
 * @p:		any pointer
 *
 * Context: any thread.
 * Return: false: take the slow path. @p may be no block, the block is marked or
 *	   too long for the run cache, or the slow path has work that is due.
 */
bool kf_large_may_free(struct kf_heap *heap, const struct kf_run *run,
		       const void *p);

/**
 * kf_large_free() - give a large block back; may move the thresholds
 * @heap:	the calling thread's, or NULL
 * @run:	its run
 *
 * Fires large_free and memory_mallopt_free_dyn_thresholds.
 *
 * Context: any thread.
 */
void kf_large_free(struct kf_heap *heap, struct kf_run *run);

/**
 * kf_large_resize() - resize a large block
 * @heap:	the calling thread's, or NULL
 * @run:	the block's run
 * @size:	bytes wanted, above KF_SMALL_MAX
 *
 * A block that grows may move: the kernel moves its pages, or it is copied.
 *
 * Context: any thread.
 * Return: the block, or NULL: nothing was done, and the caller has to copy it.
 */
void *kf_large_resize(struct kf_heap *heap, struct kf_run *run,
		      size_t size) __must_check;

#endif
