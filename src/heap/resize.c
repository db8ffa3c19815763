/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resizing small blocks, and the room that blocks get when they grow.
 */
#include "heap/fast.h"
#include "heap/marked.h"

#include <string.h>

size_t kf_resize_room(size_t have, size_t size)
{
	return size > have && size - have <= size / 8 ? size / 4 : 0;
}

size_t kf_resize_with_room(size_t have, size_t size)
{
	size_t more = size + kf_resize_room(have, size);

	return size > KF_TINY_MAX / 8 && more <= KF_SMALL_MAX ? more : size;
}

void *kf_heap_resize(struct kf_heap *heap, void *p, size_t size)
{
	struct kf_slab *slab = kf_slab_at(p);
	size_t have, usable;
	bool zeroed;
	void *to;

	if (!slab || size > KF_SMALL_MAX || kf_slab_has_marks(slab) ||
	    !kf_heap_may_free_small(slab, p))
		return NULL;
	have = slab->size;
	if (kf_resize_stays(have, size))
		return p;
	to = kf_fast_pop(heap, kf_resize_with_room(have, size), true, &usable,
			 &zeroed);
	if (!to)
		return NULL;
	memcpy(to, p, KF_MIN(have, size));
	kf_heap_stat(heap, KF_SLOT_realloc_moved, 1);
	if (!kf_fast_free(&heap->front, p, &slab)) {
		if (!kf_fast_keep(heap, slab, p))
			kf_heap_free_small(heap, slab, p);
	} else if (kf_slab_unuse(slab)) {
		kf_slab_emptied_alone(heap, slab);
	}
	return to;
}
