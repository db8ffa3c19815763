/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two-level segregated fit: blocks of any size from fixed pools of memory,
 * each operation in constant time.
 *
 * Free blocks lie in lists by size: the power of two, and inside it one of 32
 * equal steps. A bit for each list says whether it has blocks, so two bit
 * scans find the first list whose blocks are all large enough (good fit); what
 * is too much is split off, and a freed block is merged with free neighbours
 * at once. They are found by its size and by a word at the end of the one
 * before.
 *
 * M. Masmano, I. Ripoll, A. Crespo, J. Real: "TLSF: a new dynamic memory
 * allocator for real-time systems", Euromicro Conference on Real-Time
 * Systems, 2004.
 *
 * Bound: no operation has a loop. A request is served whenever a free block
 * is larger than it by a 32nd and a word; an aligned one, by the alignment
 * too.
 *
 * All state is in struct kf_tlsf and in the pools. Memory comes from the
 * caller, and so does mutual exclusion.
 */
#ifndef KF_ENGINES_TLSF_POOL_H
#define KF_ENGINES_TLSF_POOL_H

#include "base/compiler.h"

#define KF_TLSF_ALIGN ((size_t)16)
#define KF_TLSF_STEPS_LOG2 5
#define KF_TLSF_STEPS (1 << KF_TLSF_STEPS_LOG2)
#define KF_TLSF_POWERS 39
#define KF_TLSF_MAX ((size_t)1 << 46) /* bytes of a request */

/* In the head of a block, below its size. */
#define KF_TLSF_FREE ((size_t)1)	/* the block is free */
#define KF_TLSF_BEFORE_FREE ((size_t)2) /* so is the one before it */
#define KF_TLSF_FLAGS (KF_TLSF_ALIGN - 1)

/*
 * A block, at a multiple of KF_TLSF_ALIGN. The program's bytes begin at @next
 * and end with the word @before of the block behind.
 *
 * Invariants: every byte of a pool is in one block; the last one has size 0
 * and is never free; of two neighbours one is in use.
 */
struct kf_tlsf_block {
	struct kf_tlsf_block *before; /* while that is free; its last word */
	size_t head;		      /* bytes up to the block behind, flags */
	struct kf_tlsf_block *next;   /* of its list, while free */
	struct kf_tlsf_block *prev;   /* likewise; NULL: the list's first */
};

#define KF_TLSF_BLOCK_MIN sizeof(struct kf_tlsf_block)
#define KF_TLSF_BLOCK_HEAD offsetof(struct kf_tlsf_block, next)

/* Bytes of the smallest pool: a block and the last one. */
#define KF_TLSF_POOL_MIN (KF_TLSF_BLOCK_MIN + KF_TLSF_BLOCK_HEAD)

/*
 * Splits and merges of free blocks by the last operation, for counters. All are
 * bytes of whole blocks but the two numbers.
 */
struct kf_tlsf_did {
	uint32_t splits; /* blocks split off */
	uint32_t merged; /* free neighbours merged */
	struct {
		void *run; /* what was split */
		size_t kept;
		size_t left_over;
	} split[2];
	void *run; /* the block after merging */
	size_t had;
	size_t has;
};

/* Starts as zeroes. All is guarded by the caller's lock. */
struct kf_tlsf {
	uint64_t powers;		/* that have a list with blocks */
	uint32_t steps[KF_TLSF_POWERS]; /* likewise, for each power */
	struct kf_tlsf_block *list[KF_TLSF_POWERS][KF_TLSF_STEPS];
	size_t bytes;	/* of all blocks */
	size_t free;	/* bytes of free ones */
	size_t nr_free; /* free ones */
	struct kf_tlsf_did did;
};

/* One pool; constant. */
struct kf_tlsf_pool {
	char *start; /* the first block */
	char *end;   /* the last one */
};

enum kf_tlsf_is { KF_TLSF_IS_USED, KF_TLSF_IS_FREE, KF_TLSF_IS_NONE };

/**
 * kf_tlsf_add() - add a pool
 * @t:		the state
 * @mem:	its memory, which the pool owns from now on
 * @bytes:	how many
 * @pool:	out: its bounds
 *
 * Context: the caller's lock.
 * Return: false when it is smaller than KF_TLSF_POOL_MIN, alignment of both
 *	   ends taken off, or twice KF_TLSF_MAX or more; nothing changed.
 */
bool kf_tlsf_add(struct kf_tlsf *t, void *mem, size_t bytes,
		 struct kf_tlsf_pool *pool) __must_check;

/**
 * kf_tlsf_make() - a pool that is one block in use, added by no one
 * @mem:	its memory, at a multiple of KF_TLSF_ALIGN
 * @bytes:	how many, at least KF_TLSF_POOL_MIN; less than twice KF_TLSF_MAX
 * @pool:	out: its bounds
 *
 * kf_tlsf_adopt() counts its bytes; then kf_tlsf_free() of the block makes it
 * a pool like others.
 *
 * Context: no lock; the memory is the caller's own.
 * Return: the block.
 */
void *kf_tlsf_make(void *mem, size_t bytes, struct kf_tlsf_pool *pool);

/**
 * kf_tlsf_adopt() - count a pool of kf_tlsf_make()
 * @t:		the state
 * @pool:	the pool
 *
 * Context: the caller's lock; before the block is freed.
 */
void kf_tlsf_adopt(struct kf_tlsf *t, const struct kf_tlsf_pool *pool);

/**
 * kf_tlsf_is_empty() - whether a pool is one free block
 * @pool:	the pool
 *
 * Context: the caller's lock.
 * Return: true if so.
 */
bool kf_tlsf_is_empty(const struct kf_tlsf_pool *pool);

/**
 * kf_tlsf_remove() - take a pool out
 * @t:		the state
 * @pool:	the pool, which is empty; its memory is the caller's again
 *
 * Context: the caller's lock.
 */
void kf_tlsf_remove(struct kf_tlsf *t, const struct kf_tlsf_pool *pool);

/**
 * kf_tlsf_need() - bytes of a pool that is sure to serve a request
 * @size:	bytes wanted
 * @align:	power of two
 *
 * Context: any.
 * Return: bytes, for a pool at a multiple of KF_TLSF_ALIGN; SIZE_MAX where
 *	   none is large enough.
 */
size_t kf_tlsf_need(size_t size, size_t align);

/**
 * kf_tlsf_alloc() - take a block
 * @t:		the state
 * @size:	bytes, not 0
 * @align:	power of two
 *
 * Context: the caller's lock. Constant time.
 * Return: the block, or NULL when no free one is large enough.
 */
void *kf_tlsf_alloc(struct kf_tlsf *t, size_t size, size_t align) __must_check;

/**
 * kf_tlsf_free() - give a block back
 * @t:		the state
 * @p:		a block in use
 *
 * Context: the caller's lock. Constant time.
 */
void kf_tlsf_free(struct kf_tlsf *t, void *p);

/**
 * kf_tlsf_resize() - resize a block in place
 * @t:		the state
 * @p:		a block in use
 * @size:	bytes, not 0
 *
 * Context: the caller's lock. Constant time.
 * Return: false when what is behind it is not free or too short; nothing
 *	   changed.
 */
bool kf_tlsf_resize(struct kf_tlsf *t, void *p, size_t size) __must_check;

/**
 * kf_tlsf_usable() - bytes of a block that may be used
 * @p:		a block in use
 *
 * Context: any thread that owns the block; no lock.
 * Return: bytes.
 */
size_t kf_tlsf_usable(const void *p);

/**
 * kf_tlsf_look() - what a pointer is, as far as its surroundings tell
 * @pool:	a pool
 * @p:		any pointer
 *
 * Context: no lock for a block in use of the caller's own.
 * Return: used: its head and the one behind it agree on that; free: its head
 *	   was left by a free; none: all else. For a block in use the answer is
 *	   right always, for other pointers nearly always.
 */
enum kf_tlsf_is kf_tlsf_look(const struct kf_tlsf_pool *pool, const void *p);

#endif
