/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: its blocks get a mark and are billed.
 *
 * The quick ones do not take the thread's own heap back, and are for blocks of
 * which nobody else wants to know; all others are made with it in place, by the
 * detour's (abi/detour.c).
 */
#ifndef KF_ABI_TAGGED_H
#define KF_ABI_TAGGED_H

#include "core/tagging.h"
#include "engine/fast.h"
#include "sys/thread.h"

#include "probes/konfiscator-percall.h"

#include <string.h>

/**
 * kf_tagged_quick() - a block of a tag, where one is ready
 * @offset:	the class of the size, times 16
 * @size:	bytes asked
 * @call:	KF_TAG_MALLOC, or KF_TAG_CALLOC, which wants zeroes
 *
 * Fires alloc.
 *
 * Context: a thread that points at kf_heap_detour.
 * Return: the block, counted and billed; or NULL: nothing was done.
 */
static __always_inline_kf void *kf_tagged_quick(size_t offset, size_t size,
						enum kf_tag_call call)
{
	const struct kf_tag_node *node = kf_tag_self->at;
	struct kf_heap *heap;
	struct kf_slab *slab;
	struct kf_bin *bin;
	size_t usable;
	void *p;

	if (unlikely(!node->quick || !kf_process_is_quiet()))
		return NULL;
	heap = kf_detour.hidden->marked;
	if (unlikely(!heap))
		return NULL;
	p = kf_fast_alloc(heap, offset);
	if (unlikely(!p))
		return NULL;
	/* All blocks of a bin are of one slab; marked ones are never foreign.
	 */
	bin = (void *)((char *)heap->bin + offset);
	slab = kf_bin_source(bin);
	usable = slab->size;
	*kf_slab_mark(slab, p) = node->quick;
	kf_tags_came(node->tag, usable, call);
	if (call == KF_TAG_CALLOC) {
		heap->slot->scalar[KF_SLOT_calloc_calls]++;
		memset(p, 0,
		       bin->source & KF_BIN_ZEROED ? sizeof(void *) : usable);
	}
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

/* Push a block as kf_fast_free() does, whose heap it is. */
static __always_inline_kf void kf_tagged_push(struct kf_heap *heap,
					      struct kf_slab *slab, void *p)
{
	kf_probe_release((uintptr_t)p, slab->size);
	kf_fast_push(heap, slab, p);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

/* Take a block of the thread's marked heap off its tag, if it has one. */
static __always_inline_kf bool kf_tagged_leave(const struct kf_slab *slab,
					       const void *p)
{
	struct kf_stats_tag *tag;
	uint32_t mark, i;
	uint32_t *at;

	if (unlikely(!kf_slab_place(slab, p, &i) || i >= slab->carved))
		return false;
	at = kf_slab_marks(slab) + i;
	mark = *at;
	/* Neither a sample, nor freed already, nor another tree's. */
	if (unlikely(mark >> KF_TAG_TREE_SHIFT != kf_tag_self->tree))
		return false;
	*at = 0;
	tag = kf_tags_at(kf_tag_of_mark(mark));
	tag->frees++;
	tag->freed += slab->size;
	return true;
}

/**
 * kf_tagged_quick_free() - free a block of the thread's own heaps
 * @p:		any pointer
 * @slab:	the slab that it is in
 *
 * Fires release.
 *
 * Context: as kf_tagged_quick().
 * Return: false: nothing was done.
 */
static __always_inline_kf bool kf_tagged_quick_free(void *p,
						    struct kf_slab *slab)
{
	struct kf_heap *own = kf_detour.hidden;
	struct kf_heap *marked = own->marked;

	if (unlikely(!kf_process_is_quiet()))
		return false;
	if (likely(slab->owner == ((uintptr_t)marked | KF_SLAB_MARKED))) {
		if (unlikely(!kf_tagged_leave(slab, p)))
			return false;
		kf_tagged_push(marked, slab, p);
		return true;
	}
	if (slab->owner != (uintptr_t)own)
		return false;
	kf_tagged_push(own, slab, p);
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
