/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fast paths, inlined into the C library's names.
 *
 * One compare covers everything rare. In malloc an empty bin means: no heap
 * yet, a guest, another engine, nothing left, size 0. In free an owner word
 * that is not this heap means: another thread's block, a full slab, a large
 * block, a foreign pointer, NULL.
 */
#ifndef KF_ENGINE_FAST_H
#define KF_ENGINE_FAST_H

#include "engine/heap.h"

/**
 * kf_fast_alloc() - pop a block of a class
 * @heap:	kf_heap_self
 * @offset:	the class, times 16: the offset of its bin and of its counters
 *
 * Context: any thread.
 * Return: the block, counted, or NULL: take the slow path.
 */
static __always_inline_kf void *kf_fast_alloc(struct kf_heap *heap,
					      size_t offset)
{
	struct kf_bin *bin = (void *)((char *)heap->bin + offset);
	void **block = bin->head;

	if (unlikely(!block))
		return NULL;
	bin->head = *block;
	kf_heap_pair(heap, offset)->mallocs++;
	return block;
}

/**
 * kf_fast_free() - push a block to its slab's local list
 * @heap:	kf_heap_self
 * @p:		any pointer
 * @slab:	out: the slab, where the answer is true
 *
 * Context: any thread.
 * Return: false: nothing was done, take the slow path.
 */
static __always_inline_kf bool kf_fast_free(struct kf_heap *heap, void *p,
					    struct kf_slab **slab)
{
	struct kf_slab *s = kf_container_of(kf_map_get(p), struct kf_slab, run);

	if (unlikely(s->owner != (uintptr_t)heap))
		return false;
	*slab = s;
	*(void **)p = s->local;
	s->local = p;
	kf_heap_pair(heap, s->pair)->frees++;
	return true;
}

#endif
