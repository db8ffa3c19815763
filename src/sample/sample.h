/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples: blocks that stand for all, and what is known of them.
 *
 * Glossary
 *	sample	a live block that was drawn (see distance.h)
 *	record	what is kept of one: bytes, weight, stack, tag; its number with
 *		bit 31 set is the block's mark (heap/marked.h)
 *	stack	an entry of the stats file's table: who allocates
 *
 * Promises that nothing here allocates, waits for another thread but to let the
 * table of stacks grow, or fails in a way that its caller must handle: a block
 * that finds no record is no sample, a sample without a stack is billed to one
 * that says so, and both are counted. When a block is drawn and where its mark
 * is kept is left to the engine and the core.
 */
#ifndef KF_SAMPLE_SAMPLE_H
#define KF_SAMPLE_SAMPLE_H

#include "base/compiler.h"

#define KF_SAMPLE_MARK 0x80000000u /* the bit that a sample's mark has */

/* Constant after kf_sample_init(). */
struct kf_sample_conf {
	bool stacks;	     /* take them */
	uint32_t max_stacks; /* entries of the table */
};

/**
 * kf_sample_init() - say how samples are kept
 * @conf:	how
 *
 * Context: once, at start.
 */
void kf_sample_init(const struct kf_sample_conf *conf);

/**
 * kf_sample_fork_child() - the process is a forked child
 *
 * Context: the child's only thread, after it left its parent's stats file.
 */
void kf_sample_fork_child(void);

/**
 * kf_sample_take() - a record for a block to come
 * @bytes:	of the block, as it was drawn by; not 0
 * @mean:	of the distances; 0: every block is one, and stands for itself
 * @tag:	entry of the tag table, 0 none
 *
 * Walks the stack.
 *
 * Context: any thread, no lock of ours held.
 * Return: the mark for the block; or 0: there is no record left, counted.
 */
uint32_t kf_sample_take(uint64_t bytes, uint64_t mean,
			uint32_t tag) __must_check;

/**
 * kf_sample_gave() - a block has been marked
 * @mark:	of kf_sample_take()
 * @p:		the block
 * @usable:	its usable bytes, which one that stands for itself counts with
 *
 * Counts and fires sample_alloc and otel_memory's alloc.
 *
 * Context: as kf_sample_take().
 */
void kf_sample_gave(uint32_t mark, const void *p, size_t usable);

/**
 * kf_sample_drop() - there was no block for a mark
 * @mark:	of kf_sample_take()
 *
 * Context: any thread.
 */
void kf_sample_drop(uint32_t mark);

/**
 * kf_sample_forget() - a sampled block is no longer one
 * @mark:	the block's
 * @p:		the block
 *
 * Counts and fires sample_free and otel_memory's free.
 *
 * Context: any thread; before the block can be another's.
 */
void kf_sample_forget(uint32_t mark, const void *p);

/**
 * kf_sample_tag() - the tag that a sampled block was allocated under
 * @mark:	the block's
 *
 * Context: any thread, while the block is live.
 * Return: entry of the tag table, 0 none.
 */
uint32_t kf_sample_tag(uint32_t mark);

/**
 * kf_sample_mean() - the mean distance that a block was drawn by
 * @mark:	the block's
 *
 * Context: any thread, while the block is live.
 * Return: bytes.
 */
uint64_t kf_sample_mean(uint32_t mark);

/**
 * kf_sample_site() - where a block was allocated, if it is or was a sample
 * @mark:	the block's, 0 for none
 * @p:		the block; it may be free already
 *
 * Context: any thread. Of blocks that are free, the last of some hundred
 *	    samples are known.
 * Return: a return address, or 0: it is not known.
 */
uint64_t kf_sample_site(uint32_t mark, const void *p);

#endif
