/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks of lists of free blocks, and reports of misuse found there.
 */
#ifndef KF_HEAP_AUDIT_H
#define KF_HEAP_AUDIT_H

#include "heap/slab.h"

#include "konfiscator-engine.h"

/**
 * kf_audit_heap() - check the local lists and the block cache of a heap
 * @heap:	the heap
 * @budget:	blocks of local lists to check, at most
 *
 * Reports damage by kf_audit_report().
 *
 * Context: the heap's owner.
 */
void kf_audit_heap(struct kf_heap *heap, uint32_t budget) __cold;

struct kf_cached;

/**
 * kf_audit_cached() - check blocks of a list of the block cache
 * @cache:	the list
 * @nr:		blocks to check, at most
 *
 * Context: the heap's owner, or while the heap is held (heap/reclaim.h).
 * Return: NULL, or the block that was written to after it was freed.
 */
const void *kf_audit_cached(const struct kf_cached *cache, uint64_t nr);

/**
 * kf_audit_cache() - check the block cache of a class
 * @heap:	the heap
 * @class:	the class
 * @nr:		blocks to check, at most
 *
 * Reports damage by kf_audit_report(). A damaged cache is emptied; its blocks
 * are lost.
 *
 * Context: the heap's owner.
 * Return: false if the cache was damaged.
 */
bool kf_audit_cache(struct kf_heap *heap, unsigned int class, uint64_t nr);

/**
 * kf_audit_local() - report a local list that begins with no block
 * @slab:	the slab; its list is empty afterwards
 *
 * Context: the heap's owner.
 */
void kf_audit_local(struct kf_slab *slab) __cold;

/**
 * kf_audit_bin() - report a bin whose first link is damaged
 * @bin:	the bin; empty afterwards
 *
 * Reports NULL if the block that had the link cannot be found.
 *
 * Context: the heap's owner.
 */
void kf_audit_bin(struct kf_bin *bin) __cold;

/**
 * kf_audit_link() - report a block whose link is damaged
 * @block:	the block
 *
 * Context: the owner of the list.
 */
void kf_audit_link(const void *block) __cold;

/**
 * kf_audit_next() - the block after a free block
 * @block:	the block
 *
 * Reports a damaged link.
 *
 * Context: the owner of the list.
 * Return: the next block; NULL at the end of the list or at a damaged link.
 */
static inline void *kf_audit_next(const void *block)
{
	void *next = kf_link_next(block);

	if (kf_link_is_damaged(next)) {
		kf_audit_link(block);
		return NULL;
	}
	return next;
}

/**
 * kf_audit_suspect() - let the owner decide whether a block is free already
 * @owner:	the heap that owns the slab, not the caller's
 * @p:		a block with the key of a free one, its free counted; it is not
 *		written to, as it may be in a list
 *
 * The owner decides in its next kf_remote_collect(). A live block has a key if
 * the program copied the contents of a freed block to it.
 *
 * Context: any thread.
 * Return: false: the owner has a suspect already, free the block as any other.
 */
bool kf_audit_suspect(struct kf_heap *owner, void *p);

/**
 * kf_audit_judge() - decide on the block that kf_audit_suspect() handed over
 * @heap:	the block's owner
 *
 * Reports a double free if the block is free already; otherwise frees it.
 *
 * Context: the heap's owner.
 */
void kf_audit_judge(struct kf_heap *heap);

/**
 * kf_audit_shared_has() - search for a block in the shared heap's free lists
 * @slab:	the block's slab, of any heap
 * @p:		the block
 *
 * Context: any thread. Takes the shared lock.
 * Return: true if the block is in one of the lists; false also while another
 *	   thread forks.
 */
bool kf_audit_shared_has(const struct kf_slab *slab, const void *p);

/**
 * kf_audit_report() - report misuse found outside of a free of the block
 * @wrong:	the kind of misuse
 * @p:		the block, or NULL if it is not known
 *
 * Context: an engine's functions. May end the program or return.
 */
void kf_audit_report(enum konf_misuse wrong, const void *p);

/**
 * kf_audit_report_to() - set the function that reports go to
 * @report:	the function; without one, reports are dropped
 *
 * Context: once, at start.
 */
void kf_audit_report_to(void (*report)(enum konf_misuse wrong, const void *p));

#endif
