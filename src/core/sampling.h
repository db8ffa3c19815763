/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When blocks are sampled (by option, by order, in children), and which blocks:
 * the engine says when a sample is due, src/sample keeps its record.
 *
 * The countdown of the thread's heap decides (sample/countdown.h), where the
 * bytes are charged to it: small blocks when their bin is filled
 * (kf_heap_bound()) or when the block cache hands them out (kf_fast_reuse());
 * large ones, and blocks of threads without a heap, in kf_sampling_draw().
 *
 * A block of S bytes is a sample with the probability 1 - exp(-S / R), and
 * stays so when realloc changes it: one that moves to a small block is drawn as
 * a new one; a large one that grows is drawn for what came in; one that shrinks
 * stays a sample in the proportion of the two.
 */
#ifndef KF_CORE_SAMPLING_H
#define KF_CORE_SAMPLING_H

#include "base/compiler.h"

struct kf_text;

/**
 * kf_sampling_start() - sample from now on, unless the options say otherwise
 *
 * Without an option samples are taken at the mean distance of conf.def, which
 * follows their rate (sample/pace.h); but none in set-id programs, without
 * counters, or with another engine than firstfit.
 *
 * Prepares the reading of unwind tables, for orders to come too.
 *
 * Context: once, in a constructor, when the engine serves; not inside malloc.
 */
void kf_sampling_start(void);

/**
 * kf_sampling_set() - change the mean distance while the program runs
 * @value:	a size, 0 for none, as it was ordered; default: as at the start
 * @reply:	out: what came of it
 *
 * Context: one thread at a time.
 * Return: 0 or an errno.
 */
int kf_sampling_set(const char *value, struct kf_text *reply);

/**
 * kf_sampling_fork_child() - draw other samples than the parent
 *
 * Context: a forked child's only thread.
 */
void kf_sampling_fork_child(void);

/**
 * kf_sampling_begin() - take samples from now on
 * kf_sampling_stop() - take none from now on
 * @mean:	of their distances, bytes; another one than is allowed is not
 *		taken
 *
 * Context: any thread.
 */
void kf_sampling_begin(uint64_t mean);
void kf_sampling_stop(void);

/**
 * kf_sampling_was_asked() - whether samples were asked for
 *
 * Samples that are taken by default are of no use after a normal end.
 *
 * Context: any thread.
 * Return: true after an option or an order for samples, or for stacks of tags.
 */
bool kf_sampling_was_asked(void);

/**
 * kf_sampling_draw() - whether a block to come is a sample
 * @size:	bytes, not 0, below KF_SIZE_LIMIT
 * @align:	power of two
 * @tag:	entry of the tag table, 0 none: then a small block is drawn by
 *		what is due in its class, else for itself
 *
 * Context: any thread. Walks the stack.
 * Return: a mark for kf_marked_alloc(), then kf_sample_gave(); 0: no sample.
 */
uint32_t kf_sampling_draw(size_t size, size_t align, uint32_t tag) __must_check;

/**
 * kf_sampling_redraw() - whether a block that realloc gives is a sample
 * @old:	mark of the block it had; 0, a tag, or a sample
 * @before:	bytes that it is reckoned with
 * @after:	bytes that the new one is reckoned with
 * @tag:	as kf_sampling_draw()
 *
 * Context: as kf_sampling_draw().
 * Return: as kf_sampling_draw().
 */
uint32_t kf_sampling_redraw(uint32_t old, size_t before, size_t after,
			    uint32_t tag) __must_check;

/**
 * kf_sampling_drawn() - what became of a block that was drawn
 * @mark:	what kf_sampling_draw() gave, or redraw
 * @p:		the block; NULL: there was no memory, and so there is no sample
 * @usable:	its usable bytes
 *
 * Context: as kf_sampling_draw().
 */
void kf_sampling_drawn(uint32_t mark, const void *p, size_t usable);

/**
 * kf_sampling_alloc() - the block, if it is to be a sample
 * @size:	bytes, not 0, below KF_SIZE_LIMIT
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @usable:	out: its usable bytes
 *
 * Context: as kf_sampling_draw().
 * Return: the block, counted; NULL: it is no sample, ask the engine.
 */
void *kf_sampling_alloc(size_t size, size_t align, bool zeroed,
			size_t *usable) __must_check;

/**
 * kf_sampling_is_due() - whether the engine gave no block as a sample is due
 * @size:	as kf_sampling_alloc()
 * @align:	likewise
 *
 * Context: the thread that asked it.
 * Return: true if kf_sampling_alloc() will do.
 */
bool kf_sampling_is_due(size_t size, size_t align);

#endif
