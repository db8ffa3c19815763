/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: its blocks get a mark and are billed.
 *
 * The quick ones are for threads that are on a detour for that reason alone,
 * and do not take the thread's own heap back; the others are made with it in
 * place, by the detour's (abi/detour.c).
 */
#ifndef KF_ABI_TAGGED_H
#define KF_ABI_TAGGED_H

#include "core/tagging.h"
#include "engine/fast.h"
#include "record/record.h"
#include "sample/countdown.h"
#include "sample/sample.h"
#include "sys/thread.h"

#include "probes/konfiscator-percall.h"

#include <string.h>

/* Whether tags are all that the detour is for, and nothing is due first. */
static __always_inline_kf bool kf_tagged_is_quick(void)
{
	return kf_detour.tagged && kf_heap_self == &kf_heap_detour &&
	       !kf_record_is_on() && kf_process_is_known();
}

/**
 * kf_tagged_quick() - a block, where the marked heap has one ready
 * @size:	bytes, any
 * @zeroed:	whether it must read as zeroes
 *
 * Fires alloc.
 *
 * Context: a thread on a detour, not inside a call.
 * Return: the block, counted; or NULL: nothing was done.
 */
static __always_inline_kf void *kf_tagged_quick(size_t size, bool zeroed)
{
	unsigned int class = size <= KF_SMALL_MAX ? kf_class_of(size) : 0;
	uint32_t mark = kf_tag_self.mark;
	struct kf_heap *heap;
	struct kf_slab *slab;
	uintptr_t source;
	size_t usable;
	void *p;

	/* Where samples are taken the slow path draws them. */
	if (unlikely(!mark || !kf_tagged_is_quick() || kf_countdown_mean() ||
		     kf_tags_has_stacks(mark)))
		return NULL;
	heap = kf_detour.hidden->marked;
	p = heap ? kf_fast_alloc(heap, class * sizeof(struct kf_bin)) : NULL;
	if (unlikely(!p))
		return NULL;
	/* All blocks of a bin are of one slab; marked ones are never foreign.
	 */
	source = heap->bin[class].source;
	slab = kf_bin_source(&heap->bin[class]);
	*kf_slab_mark(slab, p) = mark;
	usable = slab->size;
	kf_tags_came(mark, usable, zeroed ? KF_TAG_CALLOC : KF_TAG_MALLOC);
	if (zeroed) {
		memset(p, 0, source & KF_BIN_ZEROED ? sizeof(void *) : usable);
		heap->slot->scalar[KF_SLOT_calloc_calls]++;
	}
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

/* Push a block as kf_fast_free() does, whose heap it is. */
static __always_inline_kf void kf_tagged_push(struct kf_heap *heap,
					      struct kf_slab *slab, void *p)
{
	kf_probe_release((uintptr_t)p, slab->size);
	*(void **)p = slab->local;
	slab->local = p;
	kf_fast_count(&kf_heap_pair(heap, slab->pair)->frees);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

/**
 * kf_tagged_quick_free() - free a block of the thread's own heaps
 * @p:		any pointer
 * @slab:	what the address map has for it: a slab, or another run
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
	uint32_t *at, mark;

	if (unlikely(!kf_tagged_is_quick() || own->guest))
		return false;
	if (slab->owner == (uintptr_t)own) {
		kf_tagged_push(own, slab, p);
		return true;
	}
	if (slab->owner != ((uintptr_t)own->marked | KF_SLAB_MARKED) ||
	    !kf_slab_is_block(slab, p))
		return false;
	at = kf_slab_mark(slab, p);
	mark = *at;
	*at = 0;
	if (unlikely(mark & KF_SAMPLE_MARK))
		kf_mark_hooks.gone(p, slab->size, mark, true);
	else if (likely(mark))
		kf_tags_gone(mark, slab->size, true);
	kf_tagged_push(own->marked, slab, p);
	return true;
}

/**
 * kf_tagged_malloc() - malloc() while kf_tagging_is_on()
 * kf_tagged_calloc() - calloc() likewise
 * kf_tagged_aligned() - kf_aligned()
 * kf_tagged_realloc() - realloc()
 * @p:		as there
 * @align:	as there
 * @size:	as there
 *
 * Context: as there; the thread's own heap is in place.
 * Return: as there.
 */
void *kf_tagged_malloc(size_t size) __kf_hidden;
void *kf_tagged_calloc(size_t size) __kf_hidden;
void *kf_tagged_aligned(size_t align, size_t size) __kf_hidden;
void *kf_tagged_realloc(void *p, size_t size) __kf_hidden;

#endif
