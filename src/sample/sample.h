/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples of blocks, and their records.
 *
 * Glossary
 *	sample	a live block that was drawn (see distance.h)
 *	record	a sample's bytes, weight, birth, stack and tag; its number with
 *		bit 31 set is the block's mark (heap/marked.h)
 *	stack	an entry of the stats file's table: a call stack
 *
 * Nothing here allocates; a thread waits for another one only while the table
 * of stacks grows; and no failure needs handling by the caller. A block that
 * finds no record is not sampled; a sample whose stack cannot be taken gets an
 * entry without frames; both are counted. When a block is drawn and where its
 * mark is stored is left to the engine and the core.
 */
#ifndef KF_SAMPLE_SAMPLE_H
#define KF_SAMPLE_SAMPLE_H

#include "base/compiler.h"

#define KF_SAMPLE_MARK 0x80000000u /* the bit that a sample's mark has */

struct kf_trace;

/* Where a sampled block would be if it were none: see heap/pinned.h. */
struct kf_place {
	uint64_t at;	 /* address; 0: unknown */
	uint64_t slab;	 /* number of the slab */
	uint32_t size;	 /* bytes of its blocks */
	uint32_t others; /* blocks that it has room for, less this one */
};

/* Constant after kf_sample_init(). */
struct kf_sample_conf {
	bool stacks;	     /* take the stacks of samples */
	uint32_t max_frames; /* the most frames of a stack */
	uint32_t max_stacks; /* the most entries of the table */
};

/**
 * kf_sample_init() - set the options
 * @conf:	the options; copied
 *
 * Context: once, at start.
 */
void kf_sample_init(const struct kf_sample_conf *conf);

/**
 * kf_sample_restart() - forget all samples
 *
 * Context: when no block has a mark and no thread takes samples.
 */
void kf_sample_restart(void);

/**
 * kf_sample_fork_child() - the process is a forked child
 *
 * Context: the child's only thread, after it left its parent's stats file.
 */
void kf_sample_fork_child(void);

/**
 * kf_sample_load() - an object is loaded by dlopen()
 *
 * Context: any thread, before the call.
 */
void kf_sample_load(void);

/**
 * kf_sample_unload() - an object may be unmapped
 * @done:	false before, true after
 *
 * Context: any thread, in pairs; not in a signal handler.
 */
void kf_sample_unload(bool done);

/**
 * kf_sample_take() - take a record for the block that is allocated next
 * @bytes:	of the block, not 0; its probability depends on them
 * @mean:	of the distances; 0: every block is sampled, with its usable
 *		bytes as weight
 * @tag:	entry of the tag table; 0: none
 *
 * Walks the stack.
 *
 * Context: any thread, no lock of the library held.
 * Return: the mark for the block; 0: there is no free record, which is counted.
 */
uint32_t kf_sample_take(uint64_t bytes, uint64_t mean,
			uint32_t tag) __must_check;

/**
 * kf_sample_realtime() - count a call of a thread in real-time mode for its
 *			  stack, which is no sample's
 * @function:	as the probe realtime_violation has it
 * @why:	enum kf_realtime_why
 *
 * Walks the stack.
 *
 * Context: as kf_sample_take().
 * Return: the caller, a return address; 0: unknown.
 */
uint64_t kf_sample_realtime(uint32_t function, uint32_t why);

/**
 * kf_sample_trace() - find or make the entry of a short stack, of no sample
 * @trace:	the stack
 *
 * Context: any thread, signal handlers too; one thread at a time.
 * Return: the entry; 0: there is no room for it, or it could not be taken.
 */
uint32_t kf_sample_trace(const struct kf_trace *trace) __must_check;

/**
 * kf_sample_mapper() - find or make the entry of the calling stack, of no
 *			sample
 * @entry:	out: the entry; 0: there is none, as also in signal handlers
 *
 * Walks the stack. A new stack finds no entry where samples need the rest.
 *
 * Context: any thread, signal handlers too; no lock of the library held.
 * Return: false where the call comes through the library.
 */
bool kf_sample_mapper(uint32_t *entry) __must_check;

/**
 * kf_sample_take_again() - the same for a sample that realloc changes
 * @old:	its mark
 * @bytes:	that it has from now on, not 0
 * @tag:	as kf_sample_take()
 *
 * Walks the stack only where the tag is another one: else the stack stays.
 *
 * Context: as kf_sample_take().
 * Return: as kf_sample_take().
 */
uint32_t kf_sample_take_again(uint32_t old, uint64_t bytes,
			      uint32_t tag) __must_check;

/**
 * kf_sample_gave() - count a sampled block
 * @mark:	of kf_sample_take()
 * @p:		the block, which has the mark
 * @usable:	its usable bytes
 *
 * Counts and fires sample_alloc and otel_memory's alloc.
 *
 * Context: as kf_sample_take().
 */
void kf_sample_gave(uint32_t mark, const void *p, size_t usable);

/**
 * kf_sample_drop() - free a record, as the allocation failed
 * @mark:	of kf_sample_take()
 *
 * Context: any thread.
 */
void kf_sample_drop(uint32_t mark);

/**
 * kf_sample_forget() - count a sampled block as freed
 * @mark:	the block's
 * @p:		the block
 *
 * Counts and fires sample_free and otel_memory's free.
 *
 * Context: any thread; before the block can be allocated again.
 */
void kf_sample_forget(uint32_t mark, const void *p);

/**
 * kf_sample_tag() - the tag of a sampled block
 * @mark:	the block's
 *
 * Context: any thread, while the block is live.
 * Return: entry of the tag table; 0: none.
 */
uint32_t kf_sample_tag(uint32_t mark);

/**
 * kf_sample_mean() - the mean distance with which a block was drawn
 * @mark:	the block's
 *
 * Context: any thread, while the block is live.
 * Return: bytes.
 */
uint64_t kf_sample_mean(uint32_t mark);

/**
 * kf_sample_set_place() - note where a block would be if it were no sample
 * @mark:	of kf_sample_take()
 * @place:	where; until it is set, it is unknown
 *
 * Context: the thread that allocates the block.
 */
void kf_sample_set_place(uint32_t mark, const struct kf_place *place);

/**
 * kf_sample_place() - where a sampled block would be
 * @mark:	any number with the bit KF_SAMPLE_MARK
 *
 * Context: any thread; the block may be freed meanwhile.
 * Return: the place; NULL: no record has the number.
 */
const struct kf_place *kf_sample_place(uint32_t mark);

/**
 * kf_sample_set_pinned() - note what blocks of a sample pin
 * @mark:	for which kf_sample_place() gave a place
 * @parts:	KF_STATS_PINNED_PARTS of a byte, or KF_STATS_PINNED_UNKNOWN
 *
 * Context: as kf_sample_place().
 */
void kf_sample_set_pinned(uint32_t mark, uint64_t parts);

/**
 * kf_sample_site() - the call site of a block that is or was sampled
 * @mark:	the block's; 0: none
 * @p:		the block; it may be free already
 *
 * Context: any thread. Some hundred of the last freed samples are known.
 * Return: a return address; 0: unknown.
 */
uint64_t kf_sample_site(uint32_t mark, const void *p);

#endif
