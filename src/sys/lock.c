/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks that know their owner: see lock.h. The three-state futex lock is
 * Drepper's ("Futexes are tricky", mutex 2).
 */
#include "sys/lock.h"
#include "sys/thread.h"

#include <stdlib.h>

#define SPINS 100

/* One bit a rank that the thread holds; kept in debug builds only. */
static __thread uint32_t held __attribute__((tls_model("initial-exec")));

static void check_order(const struct kf_lock *lock)
{
	if (!KF_DEBUG)
		return;
	if (held >> lock->rank)
		abort();
	held |= 1u << lock->rank;
}

static void check_drop(const struct kf_lock *lock)
{
	if (KF_DEBUG)
		held &= ~(1u << lock->rank);
}

static bool try_take(struct kf_lock *lock)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&lock->word, &none, 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool held_by_fork(const struct kf_lock *lock)
{
	/* pairs with the release store of kf_lock_fork_prepare() */
	return __atomic_load_n(&lock->forking, __ATOMIC_ACQUIRE) != 0;
}

static void own(struct kf_lock *lock, uintptr_t self)
{
	__atomic_store_n(&lock->owner, self, __ATOMIC_RELAXED);
	lock->depth = 1;
	check_order(lock);
}

static enum kf_lock_result wait_for(struct kf_lock *lock, uintptr_t self)
{
	for (int i = 0; i < SPINS; i++) {
		if (held_by_fork(lock))
			return KF_LOCK_FORKING;
		kf_cpu_relax();
		if (try_take(lock)) {
			own(lock, self);
			return KF_LOCK_WAITED;
		}
	}
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0) {
		if (held_by_fork(lock))
			return KF_LOCK_FORKING;
		kf_futex_wait(&lock->word, 2);
		if (held_by_fork(lock))
			return KF_LOCK_FORKING;
	}
	own(lock, self);
	return KF_LOCK_WAITED;
}

enum kf_lock_result kf_lock_take(struct kf_lock *lock)
{
	uintptr_t self = kf_thread_self();

	if (likely(try_take(lock))) {
		own(lock, self);
		return KF_LOCK_TAKEN;
	}
	if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == self) {
		lock->depth++;
		return KF_LOCK_TAKEN;
	}
	return wait_for(lock, self);
}

void kf_lock_drop(struct kf_lock *lock)
{
	if (--lock->depth)
		return;
	check_drop(lock);
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		kf_futex_wake(&lock->word, 1);
}

void kf_lock_fork_prepare(struct kf_lock *lock)
{
	/* Two forks at once: the second waits until the first is through. */
	while (kf_lock_take(lock) == KF_LOCK_FORKING)
		kf_thread_yield();
	__atomic_store_n(&lock->forking, 1, __ATOMIC_RELEASE);
	kf_futex_wake(&lock->word, INT32_MAX);
}

void kf_lock_fork_done(struct kf_lock *lock, bool child)
{
	__atomic_store_n(&lock->forking, 0, __ATOMIC_RELEASE);
	if (!child) {
		kf_lock_drop(lock);
		return;
	}
	check_drop(lock);
	lock->owner = 0;
	lock->depth = 0;
	__atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}
