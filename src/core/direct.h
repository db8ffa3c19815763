/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The short way to an engine that is safe with threads and looks after errno
 * itself, as the malloc behind the library is: from the C library's names to
 * the engine's functions, counted on the way, with nothing between.
 *
 * Taken by threads whose heap says so, in a process that is open for it: where
 * nobody is to see each call and there is nothing to look after first. All
 * else, and each failure, goes by the slow path, which opens it again.
 */
#ifndef KF_CORE_DIRECT_H
#define KF_CORE_DIRECT_H

#include "core/control.h"
#include "core/tally.h"
#include "engine/chunk.h"
#include "engine/detour.h"
#include "engine/engine.h"
#include "engine/heap.h"
#include "sys/thread.h"

#define KF_DIRECT_FLAGS (KONF_ENGINE_THREADS | KONF_ENGINE_ERRNO)

/* What a heap says: 0, or a way; by the second, engine/chunk.h has sizes. */
enum { KF_DIRECT_ASK = 1, KF_DIRECT_LOOK };

/* Of the engine that stands; constant from then on. */
struct kf_direct {
	struct kf_next_malloc to;
	bool elsewhere;
};

extern struct kf_direct kf_direct __kf_hidden;

/* Whether the calling thread, whose kf_heap_self it is, may go this way now. */
static inline bool kf_direct_may(const struct kf_heap *heap)
{
	return heap->direct && kf_process_is_open();
}

/* Likewise, and need not ask for sizes. */
static inline bool kf_direct_may_look(const struct kf_heap *heap)
{
	return heap->direct == KF_DIRECT_LOOK && kf_process_is_open();
}

/**
 * kf_direct_alloc() - a block
 * kf_direct_calloc() - one of zeroes
 * @size:	bytes, below KF_SIZE_LIMIT
 *
 * Context: after kf_direct_may().
 * Return: the block, not counted yet; or NULL: take the slow path.
 */
static inline void *kf_direct_alloc(size_t size)
{
	return kf_control_is_due() ? NULL : kf_direct.to.malloc(size);
}

static inline void *kf_direct_calloc(size_t size)
{
	return kf_control_is_due() ? NULL : kf_direct.to.zeroed(size);
}

/* Whether the size of a block of the engine's can be read. */
static inline bool kf_direct_is_plain(const struct kf_heap *heap, const void *p)
{
	return heap->direct == KF_DIRECT_LOOK && kf_chunk_is_short(p);
}

/**
 * kf_direct_new() - count a block
 * kf_direct_gone() - count one that will be given back
 * @heap:	kf_heap_self
 * @size:	bytes asked
 * @usable:	usable bytes
 * @elsewhere:	kf_direct.elsewhere
 *
 * Context: after kf_direct_may().
 */
static __always_inline_kf void kf_direct_new(struct kf_heap *heap, size_t size,
					     size_t usable, bool elsewhere)
{
	kf_tally_new(heap->slot, false, size, usable, elsewhere);
}

static __always_inline_kf void kf_direct_gone(struct kf_heap *heap,
					      size_t usable, bool elsewhere)
{
	kf_tally_gone(heap->slot, false, usable, elsewhere);
}

/* Whether a chunk is of a tiny class; mappings, of whole pages, are not. */
static inline bool kf_direct_is_tiny(size_t chunk)
{
	return likely(chunk <= KF_TINY_MAX);
}

/**
 * kf_direct_tiny_new() - kf_direct_new() of a tiny chunk
 * kf_direct_tiny_gone() - kf_direct_gone() of one
 * @heap:	kf_heap_self
 * @chunk:	its bytes: those of its class too
 * @size:	bytes asked
 * @usable:	kf_chunk_usable() of it
 *
 * Context: after kf_direct_may_look().
 */
static __always_inline_kf void kf_direct_tiny_new(struct kf_heap *heap,
						  size_t chunk, size_t size,
						  size_t usable)
{
	kf_tally_small_new(heap->slot, false, chunk / KF_CHUNK_STEP, size,
			   usable, KF_CHUNK_HEAD, true);
}

static __always_inline_kf void kf_direct_tiny_gone(struct kf_heap *heap,
						   size_t chunk, size_t usable)
{
	kf_tally_small_gone(heap->slot, false, chunk / KF_CHUNK_STEP, usable,
			    KF_CHUNK_HEAD, true);
}

#endif
