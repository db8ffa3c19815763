/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The short way to an engine that is safe with threads and looks after errno
 * itself, as the malloc behind the library is: from the C library's names to
 * the engine's functions, counted on the way, with nothing between.
 *
 * Taken by threads whose heap says so (the flag is never set for others), in a
 * process that has nothing to look after first. All else, and each failure,
 * goes by the slow path.
 */
#ifndef KF_CORE_DIRECT_H
#define KF_CORE_DIRECT_H

#include "core/tally.h"
#include "engine/detour.h"
#include "engine/engine.h"
#include "engine/heap.h"
#include "pages/map.h"
#include "sys/thread.h"

#define KF_DIRECT_FLAGS (KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO)

/* Of the engine that stands; constant from then on. */
struct kf_direct {
	void *(*alloc)(size_t size, size_t align);
	void (*free)(void *p);
	size_t (*usable_size)(const void *p);
	bool elsewhere;
};

extern struct kf_direct kf_direct __kf_hidden;

/* Whether the calling thread may go this way now. */
static inline bool kf_direct_may(const struct kf_heap *heap)
{
	return heap->direct && kf_process_is_settled() && !kf_detour_is_due();
}

/**
 * kf_direct_alloc() - a block
 * @heap:	kf_heap_self
 * @size:	bytes, any number
 * @usable:	out: its usable bytes
 *
 * Context: after kf_direct_may().
 * Return: the block, counted; or NULL: take the slow path.
 */
static inline void *kf_direct_alloc(struct kf_heap *heap, size_t size,
				    size_t *usable)
{
	void *p;

	if (unlikely(size - 1 >= PTRDIFF_MAX - 16))
		return NULL;
	p = kf_direct.alloc(size, 16);
	if (unlikely(!p))
		return NULL;
	*usable = kf_direct.usable_size(p);
	kf_tally_new(heap->slot, false, size, *usable, kf_direct.elsewhere);
	return p;
}

/**
 * kf_direct_free() - free a block
 * @heap:	kf_heap_self
 * @p:		the block, none of the default engine's
 * @usable:	usable bytes of it
 *
 * Context: after kf_direct_may().
 */
static inline void kf_direct_free(struct kf_heap *heap, void *p, size_t usable)
{
	kf_tally_gone(heap->slot, false, usable, kf_direct.elsewhere);
	kf_direct.free(p);
}

#endif
