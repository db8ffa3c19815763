/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A look at free blocks.
 */
#ifndef KF_HEAP_AUDIT_H
#define KF_HEAP_AUDIT_H

#include "heap/slab.h"

#include "konfiscator-engine.h"

/**
 * kf_audit_heap() - look through lists of free blocks for what is none
 * @heap:	the heap
 * @budget:	blocks to look at, at most
 *
 * Tells of what it finds by kf_audit_report().
 *
 * Context: the heap's owner.
 */
void kf_audit_heap(struct kf_heap *heap, uint32_t budget) __cold;

/**
 * kf_audit_cache() - look through the blocks that a heap kept of a class
 * @heap:	the heap; it loses them where one is damaged
 * @class:	the class
 *
 * Tells of what it finds by kf_audit_report().
 *
 * Context: the heap's owner.
 * Return: false where one is damaged.
 */
bool kf_audit_cache(struct kf_heap *heap, unsigned int class);

/**
 * kf_audit_local() - tell of a local list that begins with no block
 * @slab:	the slab; it loses the list
 *
 * Context: the heap's owner.
 */
void kf_audit_local(struct kf_slab *slab) __cold;

/**
 * kf_audit_bin() - tell of a bin that begins with a damaged link
 * @bin:	the bin; empty afterwards
 *
 * The block that had the link is NULL where it is not known any more.
 *
 * Context: the heap's owner.
 */
void kf_audit_bin(struct kf_bin *bin) __cold;

/**
 * kf_audit_link() - tell of a block whose link is damaged
 * @block:	the block
 *
 * Context: the owner of the list.
 */
void kf_audit_link(const void *block) __cold;

/**
 * kf_audit_next() - what the link of a free block leads to
 * @block:	the block
 *
 * Tells of a link that is damaged.
 *
 * Context: the owner of the list.
 * Return: the next block, or NULL: there is none, or none is known.
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
 * kf_audit_suspect() - hand a block to its owner that looks as if it were free
 * @owner:	of its slab, another heap than the caller's
 * @p:		the block, its free counted; it is not written to, as it may be
 *		in a list
 *
 * The owner judges it when it collects next. A block that is live may look so,
 * where the program copied what a freed one had in it.
 *
 * Context: any thread.
 * Return: false where one waits already: the block is to be freed as others.
 */
bool kf_audit_suspect(struct kf_heap *owner, void *p);

/**
 * kf_audit_judge() - look for a block that was handed over so
 * @heap:	its owner
 *
 * Tells of it where it is free already; else frees it.
 *
 * Context: the heap's owner.
 */
void kf_audit_judge(struct kf_heap *heap);

/**
 * kf_audit_shared_has() - whether a block is free in the guests' heap
 * @slab:	its slab, of any heap
 * @p:		the block
 *
 * Context: any thread.
 * Return: true if it is in one of its lists.
 */
bool kf_audit_shared_has(const struct kf_slab *slab, const void *p);

/**
 * kf_audit_report() - tell of what is wrong with a block nobody asked about
 * @wrong:	what
 * @p:		the block
 *
 * Context: an engine's functions. May end the program, or come back.
 */
void kf_audit_report(enum konf_misuse wrong, const void *p);

/**
 * kf_audit_report_to() - say who hears of it
 * @hear:	called for each; before that, nobody hears
 *
 * Context: once, at start.
 */
void kf_audit_report_to(void (*hear)(enum konf_misuse wrong, const void *p));

#endif
