/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: see tagged.h.
 */
#include "abi/tagged.h"

#include "abi/tiny.h"
#include "record/record.h"
#include "sample/countdown.h"
#include "sys/thread.h"

#include <string.h>

/* Whether tags are all that the detour is for, and nothing is due first. */
static inline bool is_quick(void)
{
	return kf_detour.tagged && kf_heap_self == &kf_heap_detour &&
	       !kf_record_is_on() && kf_process_is_known();
}

/* Where samples are taken the slow path draws them. */
static inline bool is_quick_alloc(void)
{
	return is_quick() && !kf_countdown_mean();
}

void *kf_tagged_quick(size_t size, bool zeroed)
{
	unsigned int class = size <= KF_SMALL_MAX ? kf_class_of(size) : 0;
	uint32_t mark = kf_tag_self.mark;
	struct kf_heap *heap;
	struct kf_slab *slab;
	size_t usable;
	void *p;

	heap = is_quick_alloc() ? kf_detour.hidden->marked : NULL;
	if (unlikely(!heap || !mark))
		return NULL;
	p = kf_fast_alloc(heap, class * sizeof(struct kf_bin));
	if (unlikely(!p))
		return NULL;
	/* All blocks of a bin are of one slab; marked ones are never foreign.
	 */
	slab = kf_bin_source(&heap->bin[class]);
	*kf_slab_mark(slab, p) = mark;
	usable = slab->size;
	if (zeroed)
		memset(p, 0,
		       heap->bin[class].source & KF_BIN_ZEROED ? sizeof(void *)
							       : usable);
	kf_tags_came(mark, usable, zeroed ? KF_TAG_CALLOC : KF_TAG_MALLOC);
	if (zeroed)
		heap->slot->scalar[KF_SLOT_calloc_calls]++;
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void emptied(struct kf_heap *heap, struct kf_slab *slab)
{
	kf_heap_enter(heap);
	kf_slab_emptied(heap, slab);
	kf_heap_leave(heap);
}

/* Push a block as kf_fast_free() does, whose heap it is. */
static inline void push(struct kf_heap *heap, struct kf_slab *slab, void *p)
{
	kf_probe_release((uintptr_t)p, slab->size);
	*(void **)p = slab->local;
	slab->local = p;
	kf_fast_count(&kf_heap_pair(heap, slab->pair)->frees);
	if (unlikely(--slab->used == 0))
		emptied(heap, slab);
}

bool kf_tagged_quick_free(void *p)
{
	struct kf_slab *slab =
		kf_container_of(kf_map_get(p), struct kf_slab, run);
	struct kf_heap *own = kf_detour.hidden;
	uint32_t mark;

	if (!is_quick() || own->guest)
		return false;
	if (slab->owner == (uintptr_t)own) {
		push(own, slab, p);
		return true;
	}
	if (slab->owner != ((uintptr_t)own->marked | KF_SLAB_MARKED) ||
	    !kf_slab_is_block(slab, p))
		return false;
	mark = *kf_slab_mark(slab, p);
	*kf_slab_mark(slab, p) = 0;
	if (mark)
		kf_mark_hooks.gone(p, slab->size, mark, true);
	push(own->marked, slab, p);
	return true;
}

static void *allocate(size_t size, size_t align, enum kf_call call,
		      enum kf_tag_call kind)
{
	uint32_t mark = kf_tag_self.mark;
	size_t usable;
	void *p = kf_alloc_tagged(size, align, call, mark, &usable);

	if (unlikely(!p))
		return NULL;
	kf_tags_came(mark, usable, kind);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

void *kf_tagged_malloc(size_t size)
{
	return allocate(size, 16, KF_CALL_MALLOC, KF_TAG_MALLOC);
}

void *kf_tagged_calloc(size_t size)
{
	void *p = allocate(size, 16, KF_CALL_CALLOC, KF_TAG_CALLOC);

	if (p)
		kf_heap_stat(kf_heap_self, KF_SLOT_calloc_calls, 1);
	return p;
}

void *kf_tagged_aligned(size_t align, size_t size)
{
	void *p = allocate(size, KF_MAX(align, (size_t)16), KF_CALL_ALIGNED,
			   KF_TAG_ALIGNED);

	if (p)
		kf_heap_stat(kf_heap_self, KF_SLOT_aligned_calls, 1);
	return p;
}

void *kf_tagged_realloc(void *p, size_t size)
{
	void *to = NULL;

	if (!p) {
		to = allocate(size, 16, KF_CALL_REALLOC, KF_TAG_REALLOC);
		if (to)
			kf_heap_stat(kf_heap_self, KF_SLOT_realloc_new, 1);
	} else if (!size) {
		kf_free(p);
	} else {
		to = kf_resize(p, size);
		if (to)
			kf_probe_resize((uintptr_t)p, (uintptr_t)to, size);
	}
	kf_heap_stat(kf_heap_self, KF_SLOT_realloc_calls, 1);
	return to;
}
