/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The upper floor: thread heaps over slabs.
 *
 * Glossary
 *	arena, heap	what a thread allocates small blocks from
 *	slab		a run of pages cut into blocks of one class
 *	carved		blocks of a slab that exist; the rest is untouched
 *	bin		a heap's list of blocks ready to be handed out
 *	local list	a slab's blocks freed by its owner
 *	remote list	a slab's blocks freed by other threads
 *
 * Invariants, seen by the owner:
 *	- carved = used + blocks in the local list; what is in the bin, in the
 *	  program's hands or in the remote list is used;
 *	- a slab is in its class' list of the heap unless it is full, and full
 *	  means: no local list, nothing left to carve, owner word tagged;
 *	- a bin is filled from one list at a time, so one flag says whether
 *	  its blocks read as zeroes behind their first word;
 *	- only the owner writes the fields of the second line, only atomics
 *	  touch the third.
 *
 * Modes by emptiness: a thread without a heap points at one whose bins are
 * all empty, so the fast path needs no test for it.
 */
#ifndef KF_ENGINE_HEAP_H
#define KF_ENGINE_HEAP_H

#include "base/compiler.h"
#include "base/list.h"
#include "engine/class.h"
#include "pages/map.h"
#include "stats/stats.h"

struct kf_heap;

#define KF_SLAB_FULL ((uintptr_t)1) /* tag in the owner word */

struct kf_slab {
	struct kf_run run;
	/* second line: the owner's */
	uintptr_t owner; /* the heap, tagged when full */
	void *local;
	uint32_t used;
	uint32_t pair; /* offset of the class' pair in a slot */
	uint32_t size; /* of a block; constant */
	uint32_t carved;
	char *bump;	     /* next byte to carve */
	char *end;	     /* of the last block; constant */
	struct kf_list link; /* in the heap's list of the class */
	/* third line: everybody's */
	uint64_t remote; /* list, and in the top 16 bits its length */
	struct kf_slab *remote_next;
	bool zeroed; /* what is not carved reads as zero; constant */
} __kf_aligned(KF_CACHE_LINE);

_Static_assert(sizeof(struct kf_slab) == KF_RUN_BYTES, "fits a descriptor");
_Static_assert(offsetof(struct kf_slab, remote) == 2 * KF_CACHE_LINE,
	       "remote frees touch a line of their own");

/* 16 bytes, as a pair of counters: one offset finds both. */
struct kf_bin {
	void *head;
	uint64_t zeroed; /* blocks read as zeroes behind the first word */
};

_Static_assert(sizeof(struct kf_bin) == sizeof(struct kf_stats_pair),
	       "one offset for bins and counters");

enum kf_heap_state { KF_HEAP_IN_USE, KF_HEAP_IDLE, KF_HEAP_LOST };

struct kf_heap {
	struct kf_bin bin[KF_NR_CLASSES]; /* owner */
	struct kf_slot *slot;		  /* constant */
	bool guest;			  /* no heap of its own: constant */
	uint8_t busy;			  /* owner is in a slow path */
	uint8_t state;		   /* enum kf_heap_state; owner, arenas lock */
	uint8_t exit_rounds;	   /* owner */
	struct kf_heap *next_all;  /* constant once listed */
	struct kf_heap *next_idle; /* of the idle stack */
	struct kf_list slabs[KF_NR_CLASSES]; /* not full ones; owner */
	struct kf_slab *remote_slabs __kf_aligned(KF_CACHE_LINE); /* atomic */
} __kf_aligned(KF_CACHE_LINE);

/* A thread's heap: empty at first, a guest when it has none of its own. */
extern __thread struct kf_heap *kf_heap_self
	__attribute__((tls_model("initial-exec")));

extern struct kf_heap kf_heap_empty;
extern struct kf_heap kf_heap_guest;

/* Add to a word of a heap's slot; guests share theirs. */
static inline void kf_heap_count(struct kf_heap *heap, uint64_t *word,
				 uint64_t n)
{
	if (unlikely(heap->guest))
		__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
	else
		*word += n;
}

static inline void kf_heap_stat(struct kf_heap *heap, enum kf_slot_stat s,
				uint64_t n)
{
	kf_heap_count(heap, &heap->slot->scalar[s], n);
}

static inline struct kf_stats_pair *kf_heap_pair(struct kf_heap *heap,
						 size_t offset)
{
	return (void *)((char *)heap->slot->class + offset);
}

/* The heap that owns a slab, whatever its tags say. */
static inline struct kf_heap *kf_slab_owner(const struct kf_slab *slab)
{
	return (struct kf_heap *)(__atomic_load_n(&slab->owner,
						  __ATOMIC_RELAXED) &
				  ~KF_SLAB_FULL);
}

/**
 * kf_heap_init() - make the heap of those who have none
 *
 * Context: once, at start.
 */
void kf_heap_init(void);

/**
 * kf_heap_get() - the calling thread's heap, made or adopted if need be
 *
 * Context: any thread. Takes the arenas lock the first time.
 * Return: the heap, or kf_heap_guest when the thread must share one.
 */
struct kf_heap *kf_heap_get(void);

/**
 * kf_heap_detach() - leave the heap to the next thread
 *
 * Context: late in the life of a thread; may be called again.
 */
void kf_heap_detach(void);

/**
 * kf_heap_slow_down() - make this and all later threads guests, or end that
 * @on:		which
 *
 * Context: any thread.
 */
void kf_heap_slow_down(bool on);

/**
 * kf_heap_alloc() - a small block by the slow path
 * @heap:	the caller's own heap, or the shared one with its lock held
 * @class:	not 0
 * @size:	bytes asked, for the estimate of rounding
 *
 * Context: the heap's owner.
 * Return: a block, counted, or NULL when the kernel has no more.
 */
void *kf_heap_alloc(struct kf_heap *heap, unsigned int class,
		    size_t size) __must_check;

/**
 * kf_heap_shared_lock() - the shared heap, for guests
 * kf_heap_shared_unlock() - let it go
 *
 * Context: any.
 * Return: the heap, or NULL while another thread forks.
 */
struct kf_heap *kf_heap_shared_lock(void) __must_check;
void kf_heap_shared_unlock(void);

/**
 * kf_heap_collect() - take home what other threads freed
 * @heap:	the heap
 *
 * Fires remote_collect.
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_heap_collect(struct kf_heap *heap);

/**
 * kf_heap_flush() - give back bins, remote frees and empty slabs
 * @heap:	the heap
 *
 * Context: the heap's owner.
 */
void kf_heap_flush(struct kf_heap *heap);

/**
 * kf_heap_scavenge() - flush the heaps that no thread has to itself
 *
 * Context: any thread. Takes the shared lock, then the arenas lock.
 */
void kf_heap_scavenge(void);

/**
 * kf_heap_live_small() - usable bytes of all live small blocks
 *
 * Context: any thread; exact when the others stand still.
 * Return: bytes.
 */
size_t kf_heap_live_small(void);

/**
 * kf_heap_fork_prepare() - hold heaps still over a fork
 * kf_heap_fork_done() - let go; in the child the others' heaps become idle
 * @child:	whether this is the child
 *
 * Context: the forking thread.
 */
void kf_heap_fork_prepare(void);
void kf_heap_fork_done(bool child);

/* A heap that is left while busy cannot be adopted after a fork. */
static inline void kf_heap_enter(struct kf_heap *heap)
{
	heap->busy++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void kf_heap_leave(struct kf_heap *heap)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap->busy--;
}

/**
 * kf_slab_make() - a new slab in a heap's list
 * @heap:	the heap
 * @class:	not 0
 *
 * Context: the heap's owner.
 * Return: the slab, or NULL when the kernel has no more.
 */
struct kf_slab *kf_slab_make(struct kf_heap *heap,
			     unsigned int class) __must_check;

/**
 * kf_slab_take() - a list of blocks for a bin
 * @heap:	the heap
 * @slab:	one of its slabs that is not full
 * @bin:	the empty bin
 *
 * Context: the heap's owner.
 * Return: how many blocks.
 */
uint32_t kf_slab_take(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin);

/**
 * kf_slab_return() - put blocks into the local list
 * @heap:	the heap
 * @slab:	its slab
 * @first:	a list of blocks
 * @nr:		how many
 *
 * The slab may be gone afterwards.
 *
 * Context: the heap's owner.
 */
void kf_slab_return(struct kf_heap *heap, struct kf_slab *slab, void *first,
		    uint32_t nr);

/**
 * kf_slab_emptied() - decide what becomes of a slab without used blocks
 * @heap:	the heap
 * @slab:	its slab, in the heap's list
 *
 * Context: the heap's owner.
 */
void kf_slab_emptied(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_dispose() - give a slab's pages back
 * @heap:	the heap
 * @slab:	its slab, in the heap's list, without used blocks
 *
 * Context: the heap's owner.
 */
void kf_slab_dispose(struct kf_heap *heap, struct kf_slab *slab);

/* What kf_slab_push_remote() noticed; a guess, as other threads go on. */
enum kf_remote {
	KF_REMOTE_MORE,	 /* the owner knows already */
	KF_REMOTE_FIRST, /* the owner was told */
	KF_REMOTE_LAST,	 /* all blocks are free and no thread owns the slab */
};

/**
 * kf_slab_push_remote() - free a block of another thread's slab
 * @slab:	the slab
 * @p:		the block
 *
 * The slab may be gone afterwards.
 *
 * Context: any thread; lock-free.
 * Return: what to do about it.
 */
enum kf_remote kf_slab_push_remote(struct kf_slab *slab, void *p);

/**
 * kf_slab_is_block() - whether an address is the start of a carved block
 * @slab:	the slab
 * @p:		an address in it
 *
 * Context: any.
 * Return: true if so.
 */
bool kf_slab_is_block(const struct kf_slab *slab, const void *p);

#endif
