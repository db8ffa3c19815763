/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of this layer share; nobody outside includes it.
 *
 *	build-id.c	what code that is mapped is known by
 *	distance.c	arithmetic
 *	countdown.c	the way to the next sample
 *	modules.c	what code the stacks lead through
 *	sample.c	records, counted and probed
 *	table.c		distinct stacks in the stats file
 *	walk.c		the calling thread's stack
 */
#ifndef KF_SAMPLE_INTERNAL_H
#define KF_SAMPLE_INTERNAL_H

#include "base/compiler.h"
#include "stats/layout.h"

/* No entry of the table. */
#define KF_TABLE_NONE UINT32_MAX

struct kf_walked {
	uint32_t nr;	/* frames; 0: the stack could not be taken */
	uint32_t flags; /* enum kf_stack_flags */
	uint64_t frame[KF_STATS_STACK_FRAMES];
};

/**
 * kf_table_find() - the entry of a stack under a tag, made if need be
 * @stack:	the stack
 * @tag:	entry of the tag table, 0 none
 * @max:	entries that the table may have
 *
 * Context: any thread. May wait for memory to be put behind the table.
 * Return: the entry, that for all that find none, or KF_TABLE_NONE.
 */
uint32_t kf_table_find(const struct kf_walked *stack, uint32_t tag,
		       uint32_t max) __must_check;

/**
 * kf_modules_note() - see that the code of a stack is in the stats file
 * @stack:	the stack; it is new
 *
 * Keeps errno.
 *
 * Context: any thread, signal handlers too. May wait for memory to be put
 *	    behind the table, never for who looks already.
 */
void kf_modules_note(const struct kf_walked *stack);

/**
 * kf_modules_fork_child() - the process is a forked child
 *
 * Who looked in the parent is not there to end it.
 *
 * Context: the child's only thread.
 */
void kf_modules_fork_child(void);

/**
 * kf_build_id_read() - the build id of a file that is mapped
 * @base:	where its first mapping begins
 * @id:		out
 *
 * Context: who looks for modules.
 * Return: bytes of it, 0 where there is none.
 */
uint32_t kf_build_id_read(uint64_t base, uint8_t id[KF_STATS_BUILD_ID]);

/**
 * kf_table_add() - bill a sample to its stack
 * kf_table_sub() - take it off again, as the block is gone
 * @entry:	of kf_table_find()
 * @bytes:	of the block
 * @weight:	bytes that it stands for
 *
 * Context: any thread.
 */
void kf_table_add(uint32_t entry, uint64_t bytes, uint64_t weight);
void kf_table_sub(uint32_t entry, uint64_t bytes, uint64_t weight);

/**
 * kf_table_caller() - who called the allocator
 * @entry:	of kf_table_find()
 *
 * Context: any thread.
 * Return: the return address, or 0: it is not known.
 */
uint64_t kf_table_caller(uint32_t entry);

/**
 * kf_sample_blocks() - blocks that a sample stands for
 * kf_sample_variance() - what it adds to the variance of a sum of weights
 * @bytes:	of the block
 * @weight:	bytes that it stands for
 *
 * Context: any; pure.
 * Return: in units of the table: KF_STATS_BLOCK_PARTS and
 *	   KF_STATS_VARIANCE_UNIT.
 */
uint64_t kf_sample_blocks(uint64_t bytes, uint64_t weight);
uint64_t kf_sample_variance(uint64_t bytes, uint64_t weight);

#endif
