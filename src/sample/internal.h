/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of this directory share; no other directory
 * includes this header.
 *
 *	ages.c		ages of live samples, lifetimes of freed ones
 *	build-id.c	build ids of mapped files
 *	distance.c	arithmetic
 *	countdown.c	the bytes before the next sample
 *	elf.c		program headers of mapped objects
 *	frames.c	the outer frames of deep stacks
 *	mappings.c	memory that the program mapped past malloc
 *	modules.c	the files whose code is in the stacks
 *	modules-table.c	their entries in the stats file
 *	python-*.c	calls of Python: see python.h
 *	rows.c		rows of unwind tables
 *	sample.c	records, counted and probed
 *	table.c		distinct stacks in the stats file
 *	trace.c		short stacks, printed
 *	walk.c		the calling thread's stack
 */
#ifndef KF_SAMPLE_INTERNAL_H
#define KF_SAMPLE_INTERNAL_H

#include "base/compiler.h"
#include "stats/layout.h"

#include <elf.h>

/* No entry of the table. */
#define KF_TABLE_NONE UINT32_MAX

struct kf_walked {
	uint32_t nr;	/* frames; 0: the stack could not be taken */
	uint32_t flags; /* enum kf_stack_flags */
	uint64_t frame[KF_STATS_STACK_MAX];
};

/**
 * kf_table_find() - find or make the entry of a stack under a tag
 * @stack:	the stack
 * @tag:	entry of the tag table; 0: none
 * @max:	the most entries of the table
 *
 * Context: any thread. May wait while another thread lets the table grow.
 * Return: the entry; entry 0 where the table is full; KF_TABLE_NONE where there
 *	   is no table.
 */
uint32_t kf_table_find(const struct kf_walked *stack, uint32_t tag,
		       uint32_t max) __must_check;

/**
 * kf_table_find_sparing() - kf_table_find() that leaves half of the entries to
 *			     samples
 * @stack:	the stack, of no tag
 * @max:	as kf_table_find()
 *
 * Context: as kf_table_find().
 * Return: as kf_table_find(); 0 also for a new stack where half of the entries
 *	   are taken.
 */
uint32_t kf_table_find_sparing(const struct kf_walked *stack,
			       uint32_t max) __must_check;

/**
 * kf_frames_intern() - find or make the entries of a stack's outer frames
 * @frame:	return addresses, innermost first
 * @nr:		how many, not 0
 * @max_stacks:	the most entries of the table of stacks
 *
 * Context: any thread. May wait while another thread lets the table grow.
 * Return: the entry of the first frame, whose parents are the others; 0 where
 *	   the table is full or there is none.
 */
uint32_t kf_frames_intern(const uint64_t *frame, uint32_t nr,
			  uint32_t max_stacks) __must_check;

/**
 * kf_modules_note() - write the modules of a stack to the stats file
 * @stack:	the new stack
 *
 * Keeps errno.
 *
 * Context: any thread, signal handlers too. May wait while another thread lets
 *	    the table grow, but not for a thread that reads the mappings.
 */
void kf_modules_note(const struct kf_walked *stack);

/**
 * kf_modules_begin() - read the mappings if they were never read
 *
 * Context: as kf_modules_note(). Cheap afterwards.
 */
void kf_modules_begin(void);

/**
 * kf_modules_retry() - read the mappings if a read was skipped before
 *
 * Context: as kf_modules_note(). Cheap if none was.
 */
void kf_modules_retry(void);

/**
 * kf_modules_has() - whether a return address is in an executable mapping
 * @pc:		the return address
 * @last:	in and out: the mapping to look at first; at first 0
 *
 * Reads the mappings where it is not in a known one.
 *
 * Context: as kf_modules_note().
 * Return: whether it is; true also where mappings cannot be read.
 */
bool kf_modules_has(uint64_t pc, uint32_t *last) __must_check;

/**
 * kf_modules_generation() - which modules a stack has passed through
 * @stack:	the stack
 *
 * Keeps errno.
 *
 * Context: as kf_modules_note().
 * Return: for the lowest bits of the hash, see struct kf_stats_stack.
 */
uint32_t kf_modules_generation(const struct kf_walked *stack) __must_check;

/**
 * kf_modules_load() - an object is loaded by dlopen()
 * @sampling:	samples with stacks are taken
 *
 * Context: any thread, before the call.
 */
void kf_modules_load(bool sampling);

/**
 * kf_modules_fork_child() - the process is a forked child
 *
 * Frees the right to read the mappings, which a thread of the parent may have
 * had.
 *
 * Context: the child's only thread.
 */
void kf_modules_fork_child(void);

struct kf_elf {
	uint64_t bias; /* of its addresses */
	unsigned int nr;
	Elf64_Phdr segment[32];
};

/**
 * kf_elf_read() - read the program headers of a mapped object
 * @base:	address of its first mapping
 * @elf:	out: the headers
 *
 * Context: any thread.
 * Return: false unless it is an ELF object of 64 bits that is loaded.
 */
bool kf_elf_read(uint64_t base, struct kf_elf *elf) __must_check;

/**
 * kf_build_id_read() - the build id of a mapped file
 * @base:	address of its first mapping
 * @id:		out: the build id
 *
 * Context: the thread that reads the mappings.
 * Return: bytes of the build id; 0: unknown.
 */
uint32_t kf_build_id_read(uint64_t base, uint8_t id[KF_STATS_BUILD_ID]);

/**
 * kf_table_add() - add a sample to its stack's counts
 * kf_table_sub() - count a sample of a stack as freed
 * @entry:	of kf_table_find()
 * @bytes:	of the block
 * @weight:	of the sample, bytes
 *
 * Context: any thread.
 */
void kf_table_add(uint32_t entry, uint64_t bytes, uint64_t weight);
void kf_table_sub(uint32_t entry, uint64_t bytes, uint64_t weight);

/**
 * kf_ages_came() - enter a live sample in the stats file
 * kf_ages_gone() - remove a sample, and count its lifetime for its stack
 * @nr:		number of its record
 * @s:		the sample, as it was entered; of a stack of kf_table_find()
 * @now:	CLOCK_MONOTONIC, ns
 * @foreign:	whether another thread frees it than allocated it
 *
 * A sample that finds no room has no age, but its lifetime counts.
 *
 * Context: any thread. kf_ages_came() may wait while another thread lets a
 *	    table grow; kf_ages_gone() makes no system call.
 */
void kf_ages_came(uint32_t nr, const struct kf_stats_sample *s);
void kf_ages_gone(uint32_t nr, const struct kf_stats_sample *s, uint64_t now,
		  bool foreign);

/**
 * kf_ages_pinned() - note what blocks of a sample pin
 * @nr:		number of its record
 * @pinned:	as in struct kf_stats_sample
 *
 * Context: any thread.
 */
void kf_ages_pinned(uint32_t nr, uint32_t pinned);

/**
 * kf_table_caller() - the call site of a stack
 * @entry:	of kf_table_find()
 *
 * Context: any thread.
 * Return: the innermost return address; 0: unknown.
 */
uint64_t kf_table_caller(uint32_t entry);

/**
 * kf_sample_blocks() - the number of blocks that a sample stands for
 * kf_sample_variance() - a sample's part of the variance of a sum of weights
 * @bytes:	of the block
 * @weight:	of the sample, bytes
 *
 * Context: any; pure.
 * Return: in units of the table: KF_STATS_BLOCK_PARTS and
 *	   KF_STATS_VARIANCE_UNIT.
 */
uint64_t kf_sample_blocks(uint64_t bytes, uint64_t weight);
uint64_t kf_sample_variance(uint64_t bytes, uint64_t weight);

#endif
