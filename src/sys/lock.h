/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recursive locks that cannot hang a fork.
 *
 * A thread may take a lock that it holds: a signal handler or a fork handler of
 * the program may allocate while the library holds the lock. So a handler does
 * not hang, and what is not safe inside of another call (purges, unmapping,
 * reclaiming) is left for later, as @depth shows. But malloc is not
 * async-signal-safe, as POSIX says: nothing protects a bin, a slab or the free
 * runs that the interrupted call was changing. A handler may count on blocks
 * from bins of classes that the interrupted call does not use.
 *
 * While a fork holds a lock, no other thread waits for it, as that thread may
 * hold a lock of libc that the fork needs: kf_lock_take() returns
 * KF_LOCK_FORKING at once, and the caller does without the lock.
 *
 * Locks are taken in the order of enum kf_lock_rank. The fork handlers walk the
 * ranks; a build with --enable-debug aborts where a thread breaks the order.
 *
 * Some steps are taken by one thread without such a lock, by a word of their
 * own. After a fork the child resets the word or makes its own; stage,
 * guarding.stage, loads and busy stay as they are:
 *
 * - grower (stats/slots.c): threads that need a longer stats file wait.
 * - stage (core/start.c): threads that call before the start is done wait.
 * - guarding.stage (core/guarding.c): nobody waits, blocks are not guarded.
 * - fork_copy.owner (stats/fork.c): nobody waits, a second fork has no copy.
 * - history.busy (stats/moments.c): nobody waits, a second moment is left out.
 * - pace.busy (sample/pace.c): nobody waits, a second sample sets no pace.
 * - loads (sample/modules.c): a thread that opens an object waits for the
 *   first one a while.
 * - busy (abi/attach.c): nobody waits, a second attach or detach is refused.
 * - publication, inside (core/fork.c): threads of a child wait for its file.
 * - writer.busy (core/snapshot.c): nobody waits, a second snapshot is left out.
 * - moment_busy (record/file.c): nobody waits, a second moment is left out.
 * - limit.busy (core/limit.c): nobody waits, a second look is left out.
 * - reading (sample/modules.c): threads that need the mappings wait a while.
 * - owner (sample/mappings.c): threads wait a while, then let all mappings be
 *   forgotten.
 * - held of a heap (heap/reclaim.c): the owner of the heap waits.
 * - owner (sys/fault.c): who changes the action of a signal waits for a while.
 * - reporter (core/guarding.c): a thread with another report waits for a while;
 *   it also guards the reports, and the stack of kf_sample_trace().
 * - the file lock of the ledger (stats/ledger.c): processes of one user wait.
 */
#ifndef KF_SYS_LOCK_H
#define KF_SYS_LOCK_H

#include "base/compiler.h"

enum kf_lock_rank {
	KF_RANK_ARENAS, /* the list of thread heaps */
	KF_RANK_SHARED, /* the heap of threads without a heap */
	KF_RANK_ENGINE, /* engines that need serialized calls */
	KF_RANK_PAGES,	/* free runs, regions, writes to the map, metadata */
	KF_NR_RANKS
};

/*
 * @word is kf_thread_self() of the owner, or 0; bit 0 is set while a thread
 * sleeps, bit 1 while a fork holds the lock. One word, so that a signal handler
 * at any instruction of the owner knows the owner. Threads sleep on its low
 * half.
 */
struct kf_lock {
	uint64_t word;	  /* atomic */
	uint32_t depth;	  /* times taken again; the owner's */
	uint32_t forking; /* 1 while a fork holds the lock; atomic */
	uint32_t rank;	  /* constant */
} __kf_aligned(KF_CACHE_LINE);

/* The initial value of a free lock. */
#define KF_LOCK_INIT(r)     \
	{                   \
		.rank = (r) \
	}

enum kf_lock_result {
	KF_LOCK_TAKEN,
	KF_LOCK_WAITED,	 /* taken, after waiting */
	KF_LOCK_FORKING, /* not taken */
};

/**
 * kf_lock_take() - take a lock
 * @lock:	the lock
 *
 * Context: any; may sleep. Keeps errno.
 * Return: KF_LOCK_TAKEN, KF_LOCK_WAITED or, without the lock, KF_LOCK_FORKING.
 */
enum kf_lock_result kf_lock_take(struct kf_lock *lock) __must_check;

/**
 * kf_lock_take_timed() - take a lock, and measure the wait
 * @lock:	the lock
 * @waited_ns:	out: nanoseconds waited, unchanged where there was no wait; or
 *		NULL
 *
 * Context: as kf_lock_take().
 * Return: as kf_lock_take().
 */
enum kf_lock_result kf_lock_take_timed(struct kf_lock *lock,
				       uint64_t *waited_ns) __must_check;

/**
 * kf_lock_drop() - release a lock
 * @lock:	a lock that the caller holds
 *
 * Context: any. Keeps errno.
 */
void kf_lock_drop(struct kf_lock *lock);

/**
 * kf_lock_is_any_held() - whether this thread holds a lock
 *
 * Context: any; in builds with --enable-debug.
 * Return: false always in other builds.
 */
bool kf_lock_is_any_held(void);

/**
 * kf_lock_fork_begin() - send waiting threads away from a lock, if it is held
 * @lock:	any lock
 *
 * Does nothing unless the calling thread has the lock, as a signal handler that
 * forks may have. Called for all locks before kf_lock_fork_prepare() takes the
 * first, so that no owner of a lower lock waits for the forking thread.
 *
 * Context: the forking thread.
 */
void kf_lock_fork_begin(struct kf_lock *lock);

/**
 * kf_lock_fork_prepare() - take a lock for the time of a fork
 * @lock:	the lock
 *
 * Context: the forking thread; waits for the owner. Other waiting threads get
 *	    KF_LOCK_FORKING.
 */
void kf_lock_fork_prepare(struct kf_lock *lock);

/**
 * kf_lock_fork_done() - release a lock after the fork
 * @lock:	the lock
 * @child:	true in the child, where the lock becomes free at any depth
 *
 * Context: the thread that forked, or its copy in the child.
 */
void kf_lock_fork_done(struct kf_lock *lock, bool child);

#endif
