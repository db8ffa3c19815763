/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: see tagged.h.
 */
#include "abi/tagged.h"

#include "abi/tiny.h"

__noinline void *kf_tagged_refill(struct kf_heap *front, size_t offset,
				  size_t size, size_t usable,
				  enum kf_tag_call call)
{
	void *p;

	/* Who looks on is met on the long way. */
	if (!kf_process_is_quiet())
		return NULL;
	/* The detour that the thread is on is its own. */
	kf_detour.depth++;
	p = kf_heap_refill(front->behind, offset, size);
	kf_detour.depth--;
	return p ? kf_tagged_bill(front, front->behind, offset, p, size, usable,
				  call)
		 : NULL;
}

__noinline void *kf_tagged_rise(struct kf_tag_node *node, void *p)
{
	kf_tags_rise(node);
	return p;
}

static void *allocate(size_t size, size_t align, enum kf_call call,
		      enum kf_tag_call kind, uint32_t mark)
{
	size_t usable;
	void *p = kf_alloc_tagged(size, align, call, mark, &usable);
	struct kf_tag_node *node = &kf_tags.node[kf_tag_of_mark(mark)];

	if (unlikely(!p))
		return NULL;
	if (kf_tags_came(node, usable, kind))
		kf_tags_rise(node);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

void *kf_tagged_malloc(size_t size, uint32_t mark)
{
	return allocate(size, 16, KF_CALL_MALLOC, KF_TAG_MALLOC, mark);
}

void *kf_tagged_calloc(size_t size, uint32_t mark)
{
	void *p = allocate(size, 16, KF_CALL_CALLOC, KF_TAG_CALLOC, mark);

	if (p)
		kf_heap_stat(kf_heap_self, KF_SLOT_calloc_calls, 1);
	return p;
}

void *kf_tagged_aligned(size_t align, size_t size, uint32_t mark)
{
	void *p = allocate(size, KF_MAX(align, (size_t)16), KF_CALL_ALIGNED,
			   KF_TAG_ALIGNED, mark);

	if (p)
		kf_heap_stat(kf_heap_self, KF_SLOT_aligned_calls, 1);
	return p;
}

void *kf_tagged_realloc(void *p, size_t size, uint32_t mark)
{
	void *to = NULL;

	if (!p) {
		to = allocate(size, 16, KF_CALL_REALLOC, KF_TAG_REALLOC, mark);
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
