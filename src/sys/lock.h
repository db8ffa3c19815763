/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks that know their owner and cannot hang a fork.
 *
 * A thread may take a lock that it holds already: a signal handler or an
 * application's fork handler may allocate while we hold it. While a lock is
 * held over a fork no other thread waits for it (it may hold a lock of libc
 * that the fork needs): kf_lock_take() says KF_LOCK_FORKING at once and the
 * caller does without the lock.
 *
 * Ranks, lowest taken first: enum kf_lock_rank. The fork handlers walk them;
 * a build with --enable-debug aborts where a thread takes them out of order.
 */
#ifndef KF_SYS_LOCK_H
#define KF_SYS_LOCK_H

#include "base/compiler.h"

enum kf_lock_rank {
	KF_RANK_ARENAS, /* the list of thread heaps */
	KF_RANK_SHARED, /* the heap of threads that have none */
	KF_RANK_ENGINE, /* engines that one call at a time is in */
	KF_RANK_PAGES,	/* free runs, regions, metadata */
	KF_NR_RANKS
};

/*
 * @word says who has it, so that a signal handler between any two
 * instructions of the owner knows: kf_thread_self() of the owner, 0 none, bit
 * 0 set where somebody sleeps, bit 1 while a fork holds it. Threads sleep on
 * its low half.
 */
struct kf_lock {
	uint64_t word;
	uint32_t depth;	  /* times taken again; owner only */
	uint32_t forking; /* held over a fork */
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
 * Return: whether and how it was taken; KF_LOCK_FORKING: it was not.
 */
enum kf_lock_result kf_lock_take(struct kf_lock *lock) __must_check;

/**
 * kf_lock_take_timed() - take a lock, and measure the wait
 * @lock:	the lock
 * @waited_ns:	out: nanoseconds waited, left alone where there was no wait;
 *		NULL: nobody wants to know
 *
 * Context: as kf_lock_take().
 * Return: likewise.
 */
enum kf_lock_result kf_lock_take_timed(struct kf_lock *lock,
				       uint64_t *waited_ns) __must_check;

/**
 * kf_lock_drop() - let a lock go
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
 * kf_lock_fork_begin() - let others go around a lock that the caller holds
 * @lock:	any lock
 *
 * A signal handler that interrupted the owner may fork. Called for all locks
 * before kf_lock_fork_prepare() takes the first, so that nobody who holds a
 * lower one waits for us.
 *
 * Context: the forking thread.
 */
void kf_lock_fork_begin(struct kf_lock *lock);

/**
 * kf_lock_fork_prepare() - take a lock for the time of a fork
 * @lock:	the lock
 *
 * Context: the forking thread; waits for the owner. Those who wait are sent
 *	    away with KF_LOCK_FORKING.
 */
void kf_lock_fork_prepare(struct kf_lock *lock);

/**
 * kf_lock_fork_done() - end of the fork
 * @lock:	the lock
 * @child:	the child starts with a free lock, whatever its state was
 *
 * Context: the thread that forked, or its copy.
 */
void kf_lock_fork_done(struct kf_lock *lock, bool child);

#endif
