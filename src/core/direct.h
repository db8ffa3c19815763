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

#include "core/control.h"
#include "core/hosted.h"
#include "core/tally.h"
#include "engine/detour.h"
#include "engine/engine.h"
#include "engine/heap.h"
#include "pages/map.h"
#include "sys/thread.h"

#define KF_DIRECT_FLAGS (KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO)

/* Of the engine that stands; constant from then on. */
struct kf_direct {
	struct kf_next_malloc to;
	bool elsewhere;
};

extern struct kf_direct kf_direct __kf_hidden;

/* Whether the calling thread, whose kf_heap_self it is, may go this way now. */
static inline bool kf_direct_may(const struct kf_heap *heap)
{
	return heap->direct && kf_process_stays_settled() &&
	       !__atomic_load_n(&kf_detour_on, __ATOMIC_ACQUIRE);
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

	if (unlikely(size - 1 >= PTRDIFF_MAX - 16) || kf_control_is_due())
		return NULL;
	p = kf_direct.to.malloc(size);
	if (unlikely(!p))
		return NULL;
	*usable = kf_direct.to.usable_size(p);
	/* So the compiler knows of which classes this is. */
	if (likely(*usable - 1 < KF_TINY_MAX))
		kf_tally_new(heap->slot, false, size, *usable,
			     kf_direct.elsewhere);
	else
		kf_hosted_count_new(heap, size, *usable);
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
	if (likely(usable - 1 < KF_TINY_MAX))
		kf_tally_gone(heap->slot, false, usable, kf_direct.elsewhere);
	else
		kf_hosted_count_gone(heap, usable);
	kf_direct.to.free(p);
}

#endif
