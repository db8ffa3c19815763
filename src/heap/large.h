/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Large blocks: runs of pages with one owner, or mappings of their own from
 * the dynamic threshold on.
 */
#ifndef KF_HEAP_LARGE_H
#define KF_HEAP_LARGE_H

#include "heap/heap.h"

/* Thresholds of large blocks, glibc's rule; set by mallopt too. */
struct kf_large_conf {
	size_t mmap_threshold;	/* atomic */
	size_t mmap_max;	/* mapped blocks at most */
	bool dynamic;		/* the thresholds follow what is freed */
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
 * kf_large_reuse() - a large block by the short way: one that the heap kept
 * @heap:	the calling thread's
 * @size:	bytes asked, above KF_SMALL_MAX
 *
 * Fires large_alloc.
 *
 * Context: any thread.
 * Return: its run, counted; or NULL: take the slow path.
 */
struct kf_run *kf_large_reuse(struct kf_heap *heap, size_t size) __must_check;

/**
 * kf_large_may_free() - whether kf_large_free() may be called at once
 * @heap:	the calling thread's
 * @run:	the run that the address map has
 * @p:		the address
 *
 * Context: any thread.
 * Return: false where @p is no block, or where the long way has things to do.
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
 * kf_large_resize() - grow or shrink without a copy
 * @heap:	the calling thread's, or NULL
 * @run:	its run
 * @size:	bytes wanted, above KF_SMALL_MAX
 *
 * Context: any thread.
 * Return: the block, moved by the kernel perhaps; NULL: it must be copied.
 */
void *kf_large_resize(struct kf_heap *heap, struct kf_run *run,
		      size_t size) __must_check;

#endif
