/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread heaps over slabs: the state of the default engine.
 *
 * Glossary
 *	heap, arena	the bins, slabs and caches that a thread allocates small
 *			blocks from; the thread is its owner
 *	guest		a thread without a heap of its own; all guests share one
 *			heap, under a lock
 *	bin		a heap's list of free blocks of one class, for malloc
 *	source		the slab that a bin was filled from last
 *	medium		of a class above KF_TINY_MAX; a slab has few such blocks
 *	block cache	freed blocks that the heap hands out again: blocks of
 *			other heaps, and its own medium blocks
 *	outbox		freed blocks of another heap's slab, not sent yet
 *	remote list	freed blocks of a slab that other threads sent to it
 *	inbox		slabs of the heap with a remote list
 *	front		what a thread points at, bins and a mode: front.h
 *	counters	a thread's slot in the stats file, and its state
 *	run cache	freed runs of slabs and large blocks: runs.h
 *
 * Invariants, as the owner sees them:
 *	- carved = used + blocks in the local list. A block in a bin, a block
 *	  cache, an outbox or a remote list is used, and so is a live block;
 *	- a slab is in its heap's list of the class unless it is full. A full
 *	  slab has KF_SLAB_FULL in its owner word, nothing left to carve, and
 *	  had no local list when the owner last looked;
 *	- the blocks of a bin are all of its source, or all cached blocks. One
 *	  flag says whether they all read as zeroes after their first word;
 *	- only the owner, or a thread that holds the heap (reclaim.h), writes
 *	  the owner's line of a slab. Inboxes and remote lists are read and
 *	  written by atomic operations alone;
 *	- KF_SLOT_taken, all threads together, has the bytes of the tiny blocks
 *	  that were handed out or are in bins, and of the medium blocks that are
 *	  live or in bins, block caches or outboxes. Only slow paths count it.
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

/* Tags in a bin's source: the blocks read as zeroes; they were cached. */
#define KF_BIN_ZEROED ((uintptr_t)1)
#define KF_BIN_CACHED ((uintptr_t)2)

/* The block cache of one class: blocks of any slab, linked. */
struct kf_cached {
	void *first;
	uint32_t nr;
	uint32_t others; /* how many of them are other heaps' */
};

_Static_assert(sizeof(struct kf_cached) == sizeof(struct kf_bin),
	       "one offset finds a bin and its cache");

/* Freed blocks of a slab of another heap, to be sent together. */
struct kf_outbox {
	struct kf_slab *slab; /* NULL: the outbox is empty */
	void *first;
	void *last;
	uint32_t nr;
	uint32_t size; /* bytes of a block */
};

/* The bytes of other heaps' blocks that a heap may hold. */
#define KF_BUDGET (64 * KF_KIB)

/*
 * The bytes of its own medium blocks that a heap's block cache may hold: an
 * equal part of KF_KEPT_ALL for each thread, and KF_KEPT_EACH at least. At most
 * KF_KEPT_STAY of them stay when the heap would take fresh pages.
 */
#define KF_KEPT_ALL (2048 * KF_KIB)
#define KF_KEPT_EACH (256 * KF_KIB)
#define KF_KEPT_STAY ((int64_t)(128 * KF_KIB))

#define KF_NR_OUTBOXES 64

/* Every 64th refill takes the slow path, which does all periodic work. */
#define KF_FAST_REFILLS 64

enum kf_counters_state {
	KF_COUNTERS_IN_USE,
	KF_COUNTERS_IDLE,
	KF_COUNTERS_LOST
};

/*
 * A thread's slot in the stats file. The next new thread takes over the
 * counters of a thread that has ended. Each heap contains counters; a thread of
 * another engine has counters alone.
 */
struct kf_counters {
	struct kf_slot *slot; /* constant */
	struct kf_heap *heap; /* that contains this, or NULL; constant */
	bool shared;	      /* other threads count in @slot too; constant */
	bool idle_at_fork;    /* arenas lock */
	uint8_t state;	      /* enum kf_counters_state; atomic */
	uint8_t exit_round;   /* of the owner's destructors; owner */
	struct kf_counters *next_all;  /* constant once listed */
	struct kf_counters *next_idle; /* in the stack of idle counters */
	struct kf_box box;	       /* owner */
};

struct kf_heap {
	/* Comes first, as the address of the heap is its owner word; owner. */
	struct kf_front front;
	struct kf_counters counters;
	bool marks; /* the slabs have marks: marked.h; constant */
	/* Not flushed since its thread left; the owner, then arenas lock. */
	bool needs_flush;
	uint8_t busy;	     /* the owner is in kf_heap_enter(); owner */
	bool held;	     /* kept from its owner: reclaim.h; atomic */
	bool idle;	     /* at the last look of reclaim.c; arenas lock */
	uint8_t next_offset; /* of new slabs (colouring); owner */
	bool reuse;	     /* it caches blocks of other heaps; owner */
	bool first_drawn;    /* the first block of a fill is charged; owner */
	uint32_t refills;    /* owner */
	uint32_t entries;    /* slow paths begun; owner */
	/* @entries at the last look, with those of @marked; arenas lock. */
	uint32_t seen;
	int64_t budget; /* bytes of others' blocks it may still take; owner */
	/* Bytes of its own blocks in the block cache; owner, holder: atomic. */
	int64_t kept;
	int64_t kept_max; /* the bound when the heap last made a slab; owner */
	struct kf_run *reclaimed; /* slabs that are being reclaimed; holder */
	/* Most carved bytes since the last flush; owner. */
	uint64_t carved_peak;
	struct kf_heap *marked; /* for marked blocks, or NULL; written once */
	struct kf_cached cache[KF_NR_CLASSES];	 /* owner */
	struct kf_outbox outbox[KF_NR_OUTBOXES]; /* owner */
	struct kf_list slabs[KF_NR_CLASSES];	 /* not full; owner */
	uint32_t nr_slabs[KF_NR_CLASSES];	 /* with full slabs; owner */
	struct kf_countdown countdown;		 /* to the next sample; owner */
	uint32_t due[KF_NR_CLASSES];	  /* epoch of the sample due; owner */
	uint64_t due_mean[KF_NR_CLASSES]; /* with which it was drawn; owner */
	/* The block that the sample due is in place of; owner. */
	const void *due_at[KF_NR_CLASSES];
	struct kf_runs runs; /* owner */
	/* Slabs with a remote list, linked by queued; atomic. */
	struct kf_run *inbox __kf_aligned(KF_CACHE_LINE);
	struct kf_run *inbox_at_fork; /* what is noted: remote.h */
	void *suspect;		      /* kf_audit_suspect(); atomic */
} __kf_aligned(KF_CACHE_LINE);

/* The calling thread's heap; NULL for a guest and under another engine. */
static inline struct kf_heap *kf_heap_self(void)
{
	return kf_self.counters->heap;
}

/* The heap that contains a front of the plain mode. */
static inline struct kf_heap *kf_heap_of(struct kf_front *front)
{
	return kf_container_of(front, struct kf_heap, front);
}

/* Add to a word of the slot, atomically where other threads count in it too. */
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

/* Count blocks that left a bin without being handed out, if they are tiny. */
static inline void kf_heap_untake_tiny(struct kf_heap *heap, unsigned int class,
				       uint64_t nr)
{
	if (class <= KF_NR_TINY)
		kf_heap_stat(heap, KF_SLOT_taken, -nr * kf_class_bytes(class));
}

/**
 * kf_slab_return() - put a used block into its slab's local list
 * @heap:	the heap
 * @slab:	its slab
 * @p:		the block
 *
 * The slab may be gone afterwards. Counts no free.
 *
 * Context: the heap's owner.
 */
static inline void kf_slab_return(struct kf_heap *heap, struct kf_slab *slab,
				  void *p)
{
	kf_link_set(p, slab->local);
	*kf_slab_key(p) = (uintptr_t)heap;
	slab->local = p;
	slab->used--;
	if (slab->size > KF_TINY_MAX)
		kf_heap_stat(heap, KF_SLOT_taken, -slab->size);
	if (unlikely(slab->owner & KF_SLAB_FULL))
		kf_slab_unretire(heap, slab);
	if (unlikely(!slab->used))
		kf_slab_emptied(heap, slab);
}

/*
 * kf_counters_stat() for the counters of the calling thread. A call that came
 * through no mode renews its front first (kf_front_renew()): without that, the
 * slot of a forked child may still be its parent's.
 */
static inline void kf_self_stat(enum kf_slot_stat s, uint64_t n)
{
	kf_counters_stat(kf_self.counters, s, n);
}

/* The counters of the class whose bin is at @offset. */
static inline struct kf_stats_pair *kf_slot_pair(struct kf_slot *slot,
						 size_t offset)
{
	return (void *)((char *)slot->class + offset);
}

/* The first block of a bin; NULL: empty; kf_link_is_damaged() may be true. */
static inline void *kf_bin_first(const struct kf_bin *bin)
{
	return kf_link_code(bin->coded);
}

/* The slab that a bin was filled from last, or NULL. */
static inline struct kf_slab *kf_bin_source(const struct kf_bin *bin)
{
	return (struct kf_slab *)(bin->source &
				  ~(KF_BIN_ZEROED | KF_BIN_CACHED));
}

/**
 * kf_heap_init() - set up the key of links and the counters of guests
 *
 * Context: once, at start.
 */
void kf_heap_init(void);

/**
 * kf_heap_get() - the calling thread's heap
 *
 * A thread without a heap adopts an idle one or makes one.
 *
 * Context: any thread. May take the arenas lock and call calloc the first time.
 * Return: the heap, or NULL: the thread is a guest.
 */
struct kf_heap *kf_heap_get(void);

/**
 * kf_heap_only_count() - give threads counters alone, without a heap
 *
 * For engines other than the default one. A thread that has a heap already
 * leaves the heap in kf_counters_get().
 *
 * Context: once, before main().
 */
void kf_heap_only_count(void);

/**
 * kf_counters_get() - the calling thread's counters
 *
 * A thread without counters takes over idle ones or makes them.
 *
 * Context: any thread, after kf_heap_only_count(). May take the arenas lock and
 *	    call calloc the first time.
 * Return: the counters, those of guests if there are no others; never NULL.
 */
struct kf_counters *kf_counters_get(void);

/**
 * kf_heap_live() - usable bytes of all live blocks, by the counters
 * kf_heap_sum() - the sum of a scalar over all slots
 * @stat:	the scalar
 *
 * Context: any thread; exact while no other thread counts.
 * Return: bytes, or the unit of @stat.
 */
size_t kf_heap_live(void);
uint64_t kf_heap_sum(enum kf_slot_stat stat);

/*
 * Whether a refill must take the slow path for a kf_heap_tick(). Reading the
 * clock costs as much as a refill. So every eighth refill reads it, and every
 * refill while there are many dirty pages, which may have to be purged.
 */
static inline bool kf_heap_tick_is_due(const struct kf_heap *heap)
{
	return unlikely(heap->refills % 8 == 0 ||
			kf_pages_exceeds_dirty_max()) &&
	       kf_pages_tick_is_due();
}

/**
 * kf_heap_detach() - leave the calling thread's heap to the next new thread
 *
 * Does so only in the last round of the thread's destructors.
 *
 * Context: destructors of the thread; may be called again.
 */
void kf_heap_detach(void);

/**
 * kf_heap_only_guests() - make this and all later threads guests
 * @on:		false: let them have heaps again
 *
 * Context: any thread.
 */
void kf_heap_only_guests(bool on);

/**
 * kf_heap_refill() - fill an empty bin and take its first block
 * @heap:	the calling thread's
 * @offset:	of the bin, in bytes, as in kf_fast_alloc()
 * @size:	bytes asked, for the estimate of rounding
 * @near:	whether a medium block may be of one of the next classes
 *
 * Refuses every 64th time, so that the slow path does its periodic work.
 *
 * Context: any thread.
 * Return: a block, counted, or NULL: take the slow path.
 */
void *kf_heap_refill(struct kf_heap *heap, size_t offset, size_t size,
		     bool near) __must_check;

/**
 * kf_heap_alloc() - a small block, after the inbox was collected
 * @heap:	the caller's own heap, or the shared one with its lock held
 * @class:	not 0
 * @size:	bytes asked, for the estimate of rounding
 * @near:	whether a medium block may be of one of the next classes
 * @zeroed:	out: whether the block reads as zeroes after its first word
 *
 * Context: the heap's owner.
 * Return: a block, counted; NULL when the kernel has no more memory, or when a
 *	   sample of the class is due.
 */
void *kf_heap_alloc(struct kf_heap *heap, unsigned int class, size_t size,
		    bool near, bool *zeroed) __must_check;

/**
 * kf_heap_ready() - fill the bin of a class, if it is empty
 * @heap:	the caller's own heap
 * @class:	not 0
 * @size:	bytes asked, for the estimate of rounding
 * @near:	whether the bin of one of the next classes will do
 *
 * Afterwards a sample is due, or kf_heap_alloc() has a block, or there is no
 * more memory.
 *
 * Context: the heap's owner.
 */
void kf_heap_ready(struct kf_heap *heap, unsigned int class, size_t size,
		   bool near);

/**
 * kf_heap_may_free_small() - whether kf_heap_free_small() may be called
 * @slab:	a slab
 * @p:		an address in it
 *
 * Context: any thread.
 * Return: false: take the slow path. @p may not be a live block, or the thread
 *	   has to choose its front anew.
 */
static __always_inline_kf bool
kf_heap_may_free_small(const struct kf_slab *slab, const void *p)
{
	return kf_slab_is_block(slab, p) && !kf_slab_looks_free(slab, p) &&
	       !kf_is_sent(p) && kf_process_is_current();
}

/**
 * kf_heap_free_small() - free a small block without the slow path
 * @heap:	the calling thread's
 * @slab:	the block's slab, of this heap or of another
 * @p:		the block
 *
 * The slab may be gone afterwards. Fires no probe.
 *
 * Context: after kf_heap_may_free_small().
 */
void kf_heap_free_small(struct kf_heap *heap, struct kf_slab *slab, void *p);

/**
 * kf_heap_resize() - resize a small block without the slow path
 * @heap:	the calling thread's
 * @p:		any pointer
 * @size:	bytes wanted, any
 *
 * Fires no probe.
 *
 * Context: any thread.
 * Return: the block at @size, perhaps moved; NULL: nothing was done, take the
 *	   slow path.
 */
void *kf_heap_resize(struct kf_heap *heap, void *p, size_t size) __must_check;

/**
 * kf_heap_shared_lock() - lock the heap that guests share
 * kf_heap_shared_unlock() - unlock it
 *
 * Context: any thread.
 * Return: the heap, or NULL while another thread forks.
 */
struct kf_heap *kf_heap_shared_lock(void) __must_check;
void kf_heap_shared_unlock(void);

/**
 * kf_heap_trim() - give back memory that was not used since the last tick
 * @heap:	the heap
 *
 * Empties the run cache and the block cache of medium classes, and disposes of
 * empty slabs that are sources of bins.
 *
 * Context: the heap's owner, on ticks.
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
 * kf_heap_flush_drained() - flush bins and block cache if little is live
 * @heap:	the heap
 *
 * Context: the heap's owner, inside kf_heap_enter().
 */
void kf_heap_flush_drained(struct kf_heap *heap);

/**
 * kf_heap_scavenge() - flush idle heaps and the shared heap
 *
 * An idle heap is flushed once after its thread ended, and whenever it has
 * remote frees; the shared heap when it has remote frees.
 *
 * Context: any thread. Takes the shared lock, then the arenas lock.
 */
void kf_heap_scavenge(void);

/**
 * kf_arenas_lock() - take the arenas lock
 * kf_arenas_unlock() - release it
 *
 * Context: any thread.
 * Return: false, without the lock, during a fork, and in a signal handler whose
 *	   thread has the lock.
 */
bool kf_arenas_lock(void) __must_check;
void kf_arenas_unlock(void);

/**
 * kf_arenas_next() - the next heap of another thread, or of none
 * @heap:	the heap before; NULL: the first
 *
 * Context: the arenas lock.
 * Return: the heap; NULL: there is no other.
 */
struct kf_heap *kf_arenas_next(const struct kf_heap *heap);

/**
 * kf_heap_tick() - trim, scavenge and reclaim if a tick of the clock is due
 *
 * Context: any thread, on slow paths.
 */
void kf_heap_tick(void);

/**
 * kf_heap_live_small() - usable bytes of all live small blocks
 *
 * Context: any thread; exact while no other thread counts.
 * Return: bytes.
 */
size_t kf_heap_live_small(void);

/**
 * kf_heap_fork_prepare() - take the locks, note idle heaps and what was sent
 * kf_heap_fork_done() - drop the locks; a child adopts the idle heaps
 * kf_heap_fork_count() - set the child's count of threads, in its own file
 * @child:	whether this is the child
 *
 * Context: the forking thread.
 */
void kf_heap_fork_prepare(void);
void kf_heap_fork_done(bool child);
void kf_heap_fork_count(void);

/**
 * kf_heap_wait() - wait until no other thread reclaims memory of a heap
 * @heap:	the heap, just marked busy
 *
 * Context: the heap's owner, with any lock.
 */
void kf_heap_wait(const struct kf_heap *heap);

/* The heap of a heap's marked blocks, or NULL; @heap: of any thread. */
static inline struct kf_heap *kf_marked_of(const struct kf_heap *heap)
{
	/* pairs with the release store of kf_marked_heap() */
	return __atomic_load_n(&heap->marked, __ATOMIC_ACQUIRE);
}

/*
 * Mark a heap as being changed by its owner: no other thread reclaims memory of
 * it, and a signal handler that ends the program does not check it.
 */
static inline void kf_heap_enter(struct kf_heap *heap)
{
	kf_store(&heap->busy, (uint8_t)(heap->busy + 1));
	kf_store(&heap->entries, heap->entries + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* pairs with the release of reclaim_end() */
	if (unlikely(kf_load_acquire(&heap->held)))
		kf_heap_wait(heap);
}

static inline void kf_heap_leave(struct kf_heap *heap)
{
	/* pairs with the acquire of reclaim_is_busy() */
	kf_store_release(&heap->busy, (uint8_t)(heap->busy - 1));
}

#endif
