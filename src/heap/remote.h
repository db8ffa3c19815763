/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Remote frees: blocks that a thread frees and another heap owns.
 *
 * A block is first kept in the freeing heap's block cache, then queued in an
 * outbox, then sent to its slab: see remote.c.
 */
#ifndef KF_HEAP_REMOTE_H
#define KF_HEAP_REMOTE_H

#include "heap/heap.h"

/*
 * Whether a heap ever cached another heap's block. Until then only its owner
 * hands out a slab's blocks. Atomic; never cleared.
 */
extern bool kf_cache_used __kf_hidden;

/*
 * Whether heaps must not cache blocks of other heaps. Set while some threads
 * are observed and others not yet: a thread that is not observed must not reuse
 * a block that an observed thread allocated. Atomic.
 */
extern bool kf_cache_barred __kf_hidden;

/**
 * kf_remote_free() - free a block that another heap owns
 * @heap:	the caller's heap, or NULL
 * @slab:	the block's slab
 * @p:		the block
 *
 * The block goes to @heap's block cache or to an outbox. Without a heap it is
 * sent to its slab at once.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: false when blocks were sent: a good time for kf_heap_tick().
 */
bool kf_remote_free(struct kf_heap *heap, struct kf_slab *slab, void *p);

/**
 * kf_remote_push() - push a slab with a remote list to the inbox of its heap
 * @to:		the heap
 * @slab:	a slab that is in no inbox
 *
 * Context: any thread.
 */
void kf_remote_push(struct kf_heap *to, struct kf_slab *slab);

/*
 * Take the remote list of a slab that came out of the inbox, and whose link
 * there was read. Release: the next thread that sends a block writes that link.
 */
static inline uint64_t kf_remote_take(struct kf_slab *slab)
{
	/* pairs with remote_send_outbox() */
	return __atomic_exchange_n(&slab->run.remote, 0, __ATOMIC_ACQ_REL);
}

/**
 * kf_remote_is_pending() - whether a heap or its marked sibling has to collect
 * @heap:	the heap, of any thread
 *
 * Context: any thread.
 * Return: true if other threads sent blocks, or a suspect.
 */
bool kf_remote_is_pending(const struct kf_heap *heap);

/**
 * kf_remote_send_all() - send the block cache and the outboxes to the owners
 * @heap:	the heap
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_remote_send_all(struct kf_heap *heap);

/**
 * kf_remote_send_cached() - send all blocks of other heaps, bins included
 * @heap:	the heap
 *
 * Context: the heap's owner, outside of kf_heap_enter().
 */
void kf_remote_send_cached(struct kf_heap *heap);

/**
 * kf_remote_collect() - put the remote blocks of the heap's slabs into the
 * slabs
 * @heap:	the heap
 *
 * Fires remote_collect.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_remote_collect(struct kf_heap *heap);

/**
 * kf_remote_note() - note what other threads have sent to a heap
 * kf_remote_restore() - in a child, let the inbox be what was noted
 * kf_remote_forget_noted() - let nothing be noted
 * @heap:	a heap that only the forking thread may use
 *
 * The kernel may copy a part of what is sent during a fork: the child never
 * uses these blocks. Where nothing was noted, kf_remote_restore() empties the
 * inbox of any heap. It puts what was noted into the present epoch.
 *
 * Nothing is collected, as a signal handler that forks may have interrupted a
 * fast path.
 *
 * Context: the forking thread, with the locks of the fork, or its copy in the
 *	    child.
 */
void kf_remote_note(struct kf_heap *heap);
void kf_remote_restore(struct kf_heap *heap);
void kf_remote_forget_noted(struct kf_heap *heap);

/**
 * kf_cache_take() - move cached blocks of a class into its bin
 * @heap:	the heap
 * @offset:	of the class's bin, in bytes; the bin is empty
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: number of blocks in the bin; 0 when none are cached, or when their
 *	   list was damaged, which was reported.
 */
uint32_t kf_cache_take(struct kf_heap *heap, size_t offset);

/**
 * kf_cache_restore() - undo kf_cache_take() for the last blocks of a bin
 * @heap:	the heap
 * @offset:	of the class's bin, in bytes
 * @first:	first of the blocks, linked
 * @nr:		number of blocks
 *
 * Context: as kf_cache_take(), right after it.
 */
void kf_cache_restore(struct kf_heap *heap, size_t offset, void *first,
		      uint32_t nr);

/**
 * kf_cache_flush() - queue the cached blocks that are in a bin
 * @heap:	the heap
 * @bin:	its bin, filled by kf_cache_take(); empty afterwards
 *
 * kf_remote_send_all() sends them.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: number of blocks.
 */
uint32_t kf_cache_flush(struct kf_heap *heap, struct kf_bin *bin);

/**
 * kf_cache_forget() - let no block of a class be cached
 * @heap:	the heap
 * @class:	the class
 *
 * The caller has the blocks, if they are not lost.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_cache_forget(struct kf_heap *heap, unsigned int class);

/**
 * kf_cache_drop() - empty the block cache of medium classes
 * @heap:	the heap
 *
 * The heap's own blocks go back to their slabs, other heaps' blocks to
 * outboxes.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_cache_drop(struct kf_heap *heap);

#endif
