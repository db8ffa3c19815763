/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread heaps over slabs: the default engine's state and its parts.
 *
 * Glossary
 *	arena, heap	what a thread allocates small blocks from
 *	bin		a heap's list of blocks ready to be handed out
 *	source		the slab that a bin had its last blocks from
 *	medium		of a class above KF_TINY_MAX, of which a slab has few
 *	block cache	blocks that a thread freed, kept to be handed out again:
 *			another heap's, and medium ones of its own
 *	outbox		such blocks on their way home
 *	inbox		where a heap finds those that others sent it
 *	front		what a thread points at: heap/front.h
 *	counters	a thread's place in the stats file
 *	run cache	freed runs of slabs and large blocks: heap/runs.h
 *
 * Invariants, seen by the owner:
 *	- carved = used + blocks in the local list; what is in a bin, in the
 *	  program's hands, in the block cache, in an outbox or in the inbox
 *	  is used;
 *	- a slab is in its class' list of the heap unless it is full, and full
 *	  means: no local list when last looked at, nothing left to carve,
 *	  owner word tagged;
 *	- a bin's blocks are all of its source, or all cached ones, and one flag
 *	  says whether they read as zeroes behind their first word;
 *	- only the owner writes the slab's line, only atomics touch the inbox.
 */
#ifndef KF_HEAP_HEAP_H
#define KF_HEAP_HEAP_H

#include "base/list.h"
#include "heap/front.h"
#include "heap/runs.h"
#include "heap/slab.h"
#include "pages/pages.h"
#include "sample/countdown.h"
#include "stats/box.h"
#include "stats/stats.h"
#include "sys/thread.h"

#define KF_BIN_ZEROED ((uintptr_t)1) /* tag in a bin's source */
#define KF_BIN_CACHED ((uintptr_t)2) /* the source is no slab, but others */

/* Blocks of one class, of any slab, that the heap may hand out again. */
struct kf_cached {
	void *first;
	uint64_t nr;
};

_Static_assert(sizeof(struct kf_cached) == sizeof(struct kf_bin),
	       "one offset for these too");

#define KF_PREFETCH_DISTANCE \
	4 /* how far a list tells what comes; a power of two */

/* Freed blocks of one other heap. */
struct kf_outbox {
	struct kf_heap *to; /* NULL: nothing here */
	void *first;
	void *last;
	uint64_t nr;			    /* posted, ever */
	void *window[KF_PREFETCH_DISTANCE]; /* of these; the oldest at @nr */
};

#define KF_BUDGET 65536 /* bytes that a block cache may hold in any case */
#define KF_BUDGET_PART                                                        \
	32	       /* and this part of the medium ones that it has carved \
			*/
#define KF_NR_MEDIUM 8 /* of its own medium ones of a class at most */
#define KF_NR_SPARSE 2 /* likewise, where a slab of the class is sparse */
#define KF_NR_OUTBOXES 8

/* One in so many refills takes the slow path, which does all periodic work. */
#define KF_FAST_REFILLS 64

enum kf_counters_state {
	KF_COUNTERS_IN_USE,
	KF_COUNTERS_IDLE,
	KF_COUNTERS_LOST
};

/*
 * A thread's place in the stats file, which the next thread takes over when it
 * ends; a heap has one, and where another engine serves it is all that a thread
 * has.
 */
struct kf_counters {
	struct kf_slot *slot;	       /* constant */
	struct kf_heap *heap;	       /* that it is a part of, or NULL;
					  constant */
	bool shared;		       /* others count in @slot too: constant */
	bool idle_at_fork;	       /* nobody's when a fork began; arenas
				  lock */
	uint8_t state;		       /* enum kf_counters_state; atomic */
	uint8_t exit_round;	       /* owner */
	struct kf_counters *next_all;  /* constant once listed */
	struct kf_counters *next_idle; /* of the idle stack */
	struct kf_box box;	       /* owner */
};

struct kf_heap {
	struct kf_front front; /* owner; first: an owner word is its
				  address */
	struct kf_counters counters;
	bool marks;	     /* its slabs have marks: constant */
	bool needs_flush;    /* left as it was; arenas lock */
	uint8_t busy;	     /* owner is in a slow path */
	uint8_t next_offset; /* of new slabs (colouring); owner */
	bool reuse;	     /* it keeps blocks of others; owner */
	uint32_t refills;    /* owner */
	int64_t budget; /* bytes it may still have in its block cache; owner */
	int64_t budget_max;	/* of these at most; owner */
	struct kf_heap *marked; /* for marked blocks, or NULL; owner */
	struct kf_cached cache[KF_NR_CLASSES];	 /* owner */
	struct kf_outbox outbox[KF_NR_OUTBOXES]; /* owner */
	struct kf_list slabs[KF_NR_CLASSES];	 /* not full ones; owner */
	uint32_t nr_slabs[KF_NR_CLASSES];	 /* full ones too; owner */
	struct kf_countdown countdown;		 /* owner */
	uint32_t due[KF_NR_CLASSES]; /* the epoch of a sample due; owner */
	struct kf_runs runs;	     /* owner */
	void *inbox_snapshot;	     /* @inbox when a fork began; owner */
	void *inbox __kf_aligned(KF_CACHE_LINE); /* atomic */
	void *suspect; /* see kf_audit_suspect(); atomic */
} __kf_aligned(KF_CACHE_LINE);

/* The calling thread's heap, or NULL: it has none of its own. */
static inline struct kf_heap *kf_heap_self(void)
{
	return kf_self.counters->heap;
}

/* The heap that a front is part of; the plain mode's fronts alone are. */
static inline struct kf_heap *kf_heap_of(struct kf_front *front)
{
	return kf_container_of(front, struct kf_heap, front);
}

/* Add to a word of a slot, which others may count in too. */
static inline void kf_counters_add(const struct kf_counters *counters,
				   uint64_t *word, uint64_t n)
{
	if (unlikely(counters->shared))
		__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
	else
		*word += n;
}

static inline void kf_counters_stat(const struct kf_counters *counters,
				    enum kf_slot_stat s, uint64_t n)
{
	kf_counters_add(counters, &counters->slot->scalar[s], n);
}

static inline void kf_heap_stat(struct kf_heap *heap, enum kf_slot_stat s,
				uint64_t n)
{
	kf_counters_stat(&heap->counters, s, n);
}

/* The same, in what the calling thread counts in. */
static inline void kf_self_stat(enum kf_slot_stat s, uint64_t n)
{
	kf_counters_stat(kf_self.counters, s, n);
}

/* A heap that carves more medium blocks may cache more of them. */
static inline void kf_heap_grow_budget(struct kf_heap *heap, size_t size,
				       int64_t bytes)
{
	if (size <= KF_TINY_MAX)
		return;
	heap->budget_max += bytes / KF_BUDGET_PART;
	heap->budget += bytes / KF_BUDGET_PART;
}

static inline struct kf_stats_pair *kf_slot_pair(struct kf_slot *slot,
						 size_t offset)
{
	return (void *)((char *)slot->class + offset);
}

/* The first block of a bin; NULL: the bin is empty; negative: damaged. */
static inline void *kf_bin_first(const struct kf_bin *bin)
{
	return kf_link_code(bin->coded);
}

/* The slab a bin had its last blocks from, or NULL. */
static inline struct kf_slab *kf_bin_source(const struct kf_bin *bin)
{
	return (struct kf_slab *)(bin->source &
				  ~(KF_BIN_ZEROED | KF_BIN_CACHED));
}

/**
 * kf_heap_init() - make the heap that guests share, and the key of links
 *
 * Context: once, at start.
 */
void kf_heap_init(void);

/**
 * kf_heap_get() - the calling thread's heap, made or adopted when it has none
 *
 * Context: any thread. Takes the arenas lock the first time.
 * Return: the heap, or NULL when the thread must share one.
 */
struct kf_heap *kf_heap_get(void);

/**
 * kf_heap_only_count() - have this and all later threads only count
 *
 * For another engine than the default one. A thread that has a heap leaves it
 * in kf_counters_get().
 *
 * Context: once, before main().
 */
void kf_heap_only_count(void);

/**
 * kf_counters_get() - what the calling thread counts in, taken if need be
 *
 * Context: any thread, after kf_heap_only_count(). May take the arenas lock and
 *	    call calloc the first time.
 * Return: counters; never NULL.
 */
struct kf_counters *kf_counters_get(void);

/**
 * kf_heap_live() - usable bytes of all live blocks by the slots' counts
 * kf_heap_sum() - a scalar of all slots
 * @stat:	which
 *
 * Context: any thread; exact when the others stand still.
 * Return: bytes.
 */
size_t kf_heap_live(void);
uint64_t kf_heap_sum(enum kf_slot_stat stat);

/*
 * Whether a refill must take the slow path for a kf_heap_tick(). Reading the
 * clock costs as much as a refill, so one in eight reads it, and each does
 * while many pages are dirty that may have to go.
 */
static inline bool kf_heap_tick_is_due(const struct kf_heap *heap)
{
	return unlikely(heap->refills % 8 == 0 || kf_pages_is_much_dirty()) &&
	       kf_pages_tick_is_due();
}

/**
 * kf_heap_detach() - leave the heap to the next thread
 *
 * Context: late in the life of a thread; may be called again.
 */
void kf_heap_detach(void);

/**
 * kf_heap_only_guests() - make this and all later threads guests, or end that
 * @on:		which
 *
 * Context: any thread.
 */
void kf_heap_only_guests(bool on);

/**
 * kf_heap_refill() - a small block, where a bin can be filled at once
 * @heap:	the calling thread's
 * @offset:	the class, times 16, as in kf_fast_alloc()
 * @size:	bytes asked, for the estimate of rounding
 * @near:	whether a medium block may be of one of the next classes
 *
 * Now and then it refuses, so that the slow path does its periodic work.
 *
 * Context: any thread.
 * Return: a block, counted, or NULL: take the slow path, for kf_heap_alloc()
 *	   or a sample.
 */
void *kf_heap_refill(struct kf_heap *heap, size_t offset, size_t size,
		     bool near) __must_check;

/**
 * kf_heap_alloc() - a small block by the slow path
 * @heap:	the caller's own heap, or the shared one with its lock held
 * @class:	not 0
 * @size:	bytes asked, for the estimate of rounding
 * @near:	whether a medium block may be of one of the next classes
 * @zeroed:	out: whether the block reads as zeroes behind its first word
 *
 * Context: the heap's owner.
 * Return: a block, counted, or NULL when the kernel has no more, or when a
 *	   sample of the class has come due.
 */
void *kf_heap_alloc(struct kf_heap *heap, unsigned int class, size_t size,
		    bool near, bool *zeroed) __must_check;

/**
 * kf_heap_may_free_small() - whether a block may be freed by the short way
 * @slab:	a slab
 * @p:		an address in it
 *
 * Context: any thread.
 * Return: false where @p is no block, or where the long way has things to do.
 */
static __always_inline_kf bool
kf_heap_may_free_small(const struct kf_slab *slab, const void *p)
{
	return kf_slab_is_block(slab, p) && !kf_slab_looks_free(slab, p) &&
	       !kf_slab_looks_sent(p) && kf_process_is_current();
}

/**
 * kf_heap_free_small() - free a small block by the short way
 * @heap:	the calling thread's
 * @slab:	the block's slab, its own or another heap's
 * @p:		the block
 *
 * The slab may be gone afterwards. Fires nothing.
 *
 * Context: after kf_heap_may_free_small().
 */
void kf_heap_free_small(struct kf_heap *heap, struct kf_slab *slab, void *p);

/**
 * kf_heap_resize() - a small block at another small size, by the short way
 * @heap:	the calling thread's
 * @p:		any pointer
 * @size:	bytes wanted, any
 *
 * Fires nothing.
 *
 * Context: any thread.
 * Return: the block, or NULL: nothing was done, take the slow path.
 */
void *kf_heap_resize(struct kf_heap *heap, void *p, size_t size) __must_check;

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
 * kf_heap_trim() - give back what was empty for a while
 * @heap:	the heap
 *
 * Cached runs, medium blocks, and the slabs that only wait to be filled
 * from again.
 *
 * Context: the heap's owner, some times a second.
 */
void kf_heap_trim(struct kf_heap *heap);

/**
 * kf_heap_flush() - give back bins, remote frees, cached runs and empty slabs
 * @heap:	the heap
 *
 * Context: the heap's owner.
 */
void kf_heap_flush(struct kf_heap *heap);

/**
 * kf_heap_scavenge() - flush the heaps that no thread has to itself
 *
 * Those of threads that have gone, and the shared one.
 *
 * Context: any thread. Takes the shared lock, then the arenas lock.
 */
void kf_heap_scavenge(void);

/**
 * kf_heap_tick() - do what is due by the clock: trim, scavenge
 *
 * Context: any thread, on slow paths.
 */
void kf_heap_tick(void);

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
 * kf_heap_fork_count() - count the child's threads, in counters of its own
 * @child:	whether this is the child
 *
 * Context: the forking thread.
 */
void kf_heap_fork_prepare(void);
void kf_heap_fork_done(bool child);
void kf_heap_fork_count(void);

/* A signal handler that ends the program does not look at a busy heap. */
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

#endif
