// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * free() by those who say how large a block is.
 *
 * What they say is held against what the block has, and is a hint only: real
 * programs delete by a base class without a virtual destructor, or have C++
 * allocators free what they did not make. A block is freed with the bytes that
 * it has, whatever is said; core/misuse.h counts and tells.
 *
 * A small block may have more bytes than were asked: it may be of a near class,
 * or have been made smaller in its place. So what is found of those is a size
 * that no call can have made this block of. Of large ones, and in secure mode
 * of all, the size is known to the byte.
 */
#include "abi/abi.h"

#include "abi/own.h"
#include "abi/replaced.h"
#include "core/core.h"
#include "engines/host.h"
#include "engines/marks.h"
#include "core/misuse.h"
#include "engines/chunk.h"
#include "mode/mode.h"

#include <stdlib.h>

/* Fewer bytes may be asked than a block, or one with a mark, has at least. */
static bool is_exact(size_t usable, size_t size)
{
	return size == usable || (size < usable && usable <= KF_MARKS_LEAST);
}

/* @rounded: what was taken for it, where that was from a slab. */
static bool fits(void *p, size_t size, size_t rounded)
{
	size_t usable = kf_usable(p);
	const struct kf_run *run = kf_map_find(p);

	/* Of no block; free() will say so. */
	if (!usable)
		return true;
	/* Another engine's. */
	if (!run || run->kind == KF_RUN_POOL)
		return kf_engine->is_exact ? is_exact(usable, size)
					   : size <= usable;
	if (run->kind == KF_RUN_SLAB)
		return kf_resize_stays(usable, rounded);
	return size >= run->asked && size <= usable;
}

/* Whether it can be said without asking anybody, and it fits. */
static inline bool fits_chunk(const void *p, size_t size)
{
	return p && kf_host_direct.heads &&
	       kf_map_peek(p)->kind == KF_RUN_NONE && kf_chunk_is_short(p) &&
	       size <= kf_chunk_usable(kf_chunk_bytes(p));
}

static __noinline void ask_and_free(void *p, size_t size, size_t rounded)
{
	if (unlikely(p && !fits(p, size, rounded)))
		kf_misuse_tell_size(p, size);
	kf_free(p);
}

static __noinline void look_and_free(void *p, size_t size, size_t rounded)
{
	if (fits_chunk(p, size))
		kf_free(p);
	else
		ask_and_free(p, size, rounded);
}

KF_LEAF void kf_free_sized(void *p, size_t size)
{
	struct kf_front *front = kf_front_self;
	struct kf_slab *slab;

	if (unlikely(!kf_fast_free_sized(front, p, size, &slab))) {
		look_and_free(p, size, size);
		return;
	}
	kf_probe_release((uintptr_t)p, slab->size);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(kf_heap_of(front), slab);
}

void kf_free_aligned(void *p, size_t align, size_t size)
{
	look_and_free(p, size,
		      kf_class_request(KF_MAX(size, (size_t)1), align));
}

__kf_public KF_LEAF void free_sized(void *p, size_t size)
{
	if (unlikely(kf_malloc_replaced)) {
		kf_replaced_free(p);
		return;
	}
	kf_free_sized(p, size);
}

__kf_public KF_LEAF void free_aligned_sized(void *p, size_t align, size_t size)
{
	if (unlikely(kf_malloc_replaced))
		kf_replaced_free(p);
	else
		kf_free_aligned(p, align, size);
}
