/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: its blocks get a mark and are billed.
 *
 * The quick ones do not take the thread's own heap back, and are for blocks of
 * which nobody else wants to know: the thread points at its front
 * (engine/detour.h). All others are made with its heap in place, by the
 * detour's (abi/detour.c).
 */
#ifndef KF_ABI_TAGGED_H
#define KF_ABI_TAGGED_H

#include "core/tagging.h"
#include "engine/fast.h"
#include "sys/thread.h"

#include "probes/konfiscator-percall.h"

#include <string.h>

/* The calling thread's current node; @front: kf_heap_self. */
static __always_inline_kf struct kf_tag_node *
kf_tagged_node(const struct kf_heap *front)
{
	return front->tag;
}

/**
 * kf_tagged_rise() - kf_tags_rise(), on the way to return a block
 * @node:	as there
 * @p:		the block
 *
 * Context: as there.
 * Return: the block.
 */
void *kf_tagged_rise(struct kf_tag_node *node, void *p) __kf_hidden;

/**
 * kf_tagged_bill() - let a block be the current tag's
 * @front:	kf_heap_self, a front
 * @heap:	the heap behind it
 * @offset:	the class of the size, times 16
 * @p:		a block of that bin of @heap, counted
 * @size:	bytes asked
 * @usable:	bytes of the class
 * @call:	KF_TAG_MALLOC, or KF_TAG_CALLOC, which wants zeroes
 *
 * Fires alloc.
 *
 * Context: any thread.
 * Return: the block.
 */
static __always_inline_kf void *kf_tagged_bill(const struct kf_heap *front,
					       const struct kf_heap *heap,
					       size_t offset, void *p,
					       size_t size, size_t usable,
					       enum kf_tag_call call)
{
	/* All blocks of a bin are of one slab; marked ones are never foreign.
	 */
	const struct kf_bin *bin =
		(const void *)((const char *)heap->bin + offset);
	struct kf_tag_node *node = kf_tagged_node(front);
	bool rises;
	void *given;

	*kf_slab_mark(kf_bin_source(bin), p) = node->quick;
	rises = kf_tags_came(node, usable, call);
	if (call == KF_TAG_CALLOC) {
		heap->slot->scalar[KF_SLOT_calloc_calls]++;
		memset(p, 0,
		       bin->source & KF_BIN_ZEROED ? sizeof(void *) : usable);
	}
	kf_probe_alloc((uintptr_t)p, size, usable);
	if (unlikely(rises))
		return kf_tagged_rise(node, p);
	kf_copy_to_result(given, p);
	return given;
}

/**
 * kf_tagged_refill() - a block of a tag, where the bin is empty
 * @front:	as kf_tagged_bill()
 * @offset:	likewise
 * @size:	likewise
 * @usable:	likewise
 * @call:	likewise
 *
 * Fires alloc.
 *
 * Context: any thread.
 * Return: the block, counted and billed; or NULL: take the long way.
 */
void *kf_tagged_refill(struct kf_heap *front, size_t offset, size_t size,
		       size_t usable, enum kf_tag_call call) __kf_hidden;

/* Push a block as kf_fast_free() does, whose heap it is. */
static __always_inline_kf void kf_tagged_push(struct kf_heap *heap,
					      struct kf_slab *slab, void *p)
{
	kf_probe_release((uintptr_t)p, slab->size);
	kf_fast_push(heap, slab, p);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

/* The tag of a mark, if it is of the calling thread's tree; or NULL. */
static inline struct kf_stats_tag *kf_tagged_other(const struct kf_heap *front,
						   uint32_t mark)
{
	const struct kf_tag_self *self = front->tags;

	if (unlikely(mark >> KF_TAG_TREE_SHIFT != self->tree))
		return NULL;
	return kf_tags_at(kf_tag_of_mark(mark));
}

/**
 * kf_tagged_quick_free() - free a block of a slab with marks
 * @front:	kf_heap_self
 * @p:		any pointer
 * @slab:	what the address map has for it
 *
 * Fires release.
 *
 * Context: any thread.
 * Return: false: nothing was done. Always where @front is no front.
 */
static __always_inline_kf bool
kf_tagged_quick_free(struct kf_heap *front, void *p, struct kf_slab *slab)
{
	const struct kf_tag_node *node;
	struct kf_stats_tag *tag;
	uint32_t *marks, mark;
	size_t i;

	if (unlikely(kf_glance(&slab->owner) != kf_front_frees(front->theirs)))
		return false;
	kf_slab_place(slab, p, &i);
	marks = kf_slab_marks(slab);
	mark = marks[i];
	node = kf_tagged_node(front);
	tag = node->tag;
	/* Neither a sample, nor freed already, nor another tree's. */
	if (unlikely(mark != node->quick)) {
		tag = kf_tagged_other(front, mark);
		if (!tag)
			return false;
	}
	marks[i] = 0;
	tag->frees++;
	tag->freed += slab->size;
	kf_tagged_push(front->behind, slab, p);
	return true;
}

/**
 * kf_tagged_malloc() - malloc() for a thread with a tag
 * kf_tagged_calloc() - calloc() likewise
 * kf_tagged_aligned() - kf_aligned()
 * kf_tagged_realloc() - realloc()
 * @p:		as there
 * @align:	as there
 * @size:	as there
 * @mark:	of kf_tagging_mark(), not 0
 *
 * Context: as there; the thread's own heap is in place.
 * Return: as there.
 */
void *kf_tagged_malloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_calloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_aligned(size_t align, size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_realloc(void *p, size_t size, uint32_t mark) __kf_hidden;

#endif
