// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The forms of free() with a size.
 *
 * The size is compared with the block's, and is a hint only: real programs
 * delete by a base class without a virtual destructor, or pass blocks to C++
 * allocators that did not make them. The block is freed with its own size;
 * core/misuse.h counts and reports the difference.
 *
 * A small block may be larger than its request: it may be of a near class, or
 * have been shrunk in place. So only a size that no request for this block can
 * have had is reported. The request of a large block, and in secure mode of
 * any, is known to the byte.
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

/* A request may be smaller than the smallest block, marked or not. */
static bool is_exact(size_t usable, size_t size)
{
	return size == usable || (size < usable && usable <= KF_MARKS_LEAST);
}

/* @rounded: the size that a slab was asked for */
static bool fits(void *p, size_t size, size_t rounded)
{
	size_t usable = kf_usable(p);
	const struct kf_run *run = kf_map_find(p);

	/* No block: free() reports it. */
	if (!usable)
		return true;
	/* A block of a hosted engine. */
	if (!run || run->kind == KF_RUN_POOL)
		return kf_engine->is_exact ? is_exact(usable, size)
					   : size <= usable;
	if (run->kind == KF_RUN_GUARDED)
		return KF_MAX(size, (size_t)1) == usable;
	if (run->kind == KF_RUN_SLAB)
		return kf_resize_stays(usable, rounded);
	return size >= run->asked && size <= usable;
}

/* Whether the size fits a block with its size in front. */
static inline bool fits_chunk(const void *p, size_t size)
{
	return p && kf_host_direct.heads &&
	       kf_map_peek(p)->kind == KF_RUN_NONE && kf_chunk_is_short(p) &&
	       size <= kf_chunk_usable(kf_chunk_bytes(p));
}

static __noinline void ask_and_free(void *p, size_t size, size_t rounded)
{
	if (unlikely(p && !fits(p, size, rounded)))
		kf_misuse_report_size(p, size);
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
	if (kf_slab_unuse(slab))
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
