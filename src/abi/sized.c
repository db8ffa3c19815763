// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * free() by those who say how large a block is.
 *
 * What they say is held against what the block has. It may have more than was
 * asked: it may be of a near class, or have been made smaller in its place. So
 * what is found is a size that no call can have made this block of.
 */
#include "abi/abi.h"

#include "abi/tiny.h"
#include "core/direct.h"
#include "core/misuse.h"

#include <stdlib.h>

/* Whether that can be said without asking anybody, and it fits. */
static inline bool fits_direct(const void *p, size_t size)
{
	return p && kf_direct_may_look(kf_heap_self) &&
	       kf_map_glance(p)->kind == KF_RUN_NONE && kf_chunk_is_short(p) &&
	       size <= kf_chunk_usable(kf_chunk_bytes(p));
}

/* @rounded: what was taken for it, where that was from a slab. */
static bool fits(void *p, size_t size, size_t rounded)
{
	size_t usable = kf_usable(p);

	/* Of no block; free() will say so. */
	if (!usable)
		return true;
	return kf_slab_at(p) ? kf_resize_stays(usable, rounded)
			     : size <= usable;
}

static __noinline void ask_and_free(void *p, size_t size, size_t rounded)
{
	if (unlikely(p && !fits(p, size, rounded)))
		kf_misuse_tell(p, KF_MISMATCH);
	else
		kf_free(p);
}

static __noinline void look_and_free(void *p, size_t size, size_t rounded)
{
	if (fits_direct(p, size))
		kf_free(p);
	else
		ask_and_free(p, size, rounded);
}

KF_LEAF void kf_free_sized(void *p, size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	struct kf_slab *slab;

	if (unlikely(!kf_fast_free_sized(heap, p, size, &slab))) {
		look_and_free(p, size, size);
		return;
	}
	kf_probe_release((uintptr_t)p, slab->size);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

void kf_free_aligned(void *p, size_t align, size_t size)
{
	look_and_free(p, size,
		      kf_class_request(KF_MAX(size, (size_t)1), align));
}

__kf_public KF_LEAF void free_sized(void *p, size_t size)
{
	kf_free_sized(p, size);
}

__kf_public KF_LEAF void free_aligned_sized(void *p, size_t align, size_t size)
{
	kf_free_aligned(p, align, size);
}
