/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recursive locks: see lock.h. Each is a futex with a bit for sleepers, after
 * Drepper's "Futexes are tricky".
 */
#include "sys/lock.h"
#include "sys/call.h"
#include "sys/thread.h"

#include <stdlib.h>

#define SPINS 100

/* A bit for each rank that the thread holds; in debug builds only. */
static __thread uint32_t held __attribute__((tls_model("initial-exec")));

static void check_take(const struct kf_lock *lock, bool ordered)
{
	if (!KF_DEBUG)
		return;
	if (ordered && held >> lock->rank)
		abort();
	held |= 1u << lock->rank;
}

static void check_drop(const struct kf_lock *lock)
{
	if (KF_DEBUG)
		held &= ~(1u << lock->rank);
}

bool kf_lock_is_any_held(void)
{
	return held != 0;
}

#define SLEEPERS ((uint64_t)1)

/*
 * Set when a fork begins to hold the lock: the word changes then, so that a
 * thread that is about to sleep on the old value does not.
 */
#define SENT_AWAY ((uint64_t)2)

static bool is_mine(const struct kf_lock *lock)
{
	return (kf_load(&lock->word) & ~(SLEEPERS | SENT_AWAY)) ==
	       kf_thread_self();
}

static bool held_by_fork(const struct kf_lock *lock)
{
	/* pairs with the release store of send_away() */
	return kf_load_acquire(&lock->forking) != 0;
}

/* The half that changes with the owner and has the sleepers' bit. */
static uint32_t *low_half(struct kf_lock *lock)
{
	uint32_t *half = (uint32_t *)&lock->word;

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? half : half + 1;
}

/* Sleep once, unless the lock is free. */
static void sleep_on(struct kf_lock *lock)
{
	/* pairs with the release of send_away() */
	uint64_t seen = kf_load_acquire(&lock->word);

	if (!seen)
		return;
	if (!(seen & SLEEPERS) && !kf_cas(&lock->word, &seen, seen | SLEEPERS))
		return;
	if (held_by_fork(lock))
		return;
	kf_futex_wait(low_half(lock), (uint32_t)(seen | SLEEPERS));
}

static enum kf_lock_result wait_for(struct kf_lock *lock, uint64_t self)
{
	kf_toll.waited = true;
	for (int i = 0; i < SPINS; i++) {
		if (held_by_fork(lock))
			return KF_LOCK_FORKING;
		kf_cpu_relax();
		/* A load leaves the cache line with the owner. */
		if (!kf_load(&lock->word) && kf_claim(&lock->word, self))
			return KF_LOCK_WAITED;
	}
	/* Other threads may still sleep: the bit stays set. */
	while (!kf_claim(&lock->word, self | SLEEPERS)) {
		if (held_by_fork(lock))
			return KF_LOCK_FORKING;
		sleep_on(lock);
	}
	return KF_LOCK_WAITED;
}

static enum kf_lock_result wait_timed(struct kf_lock *lock, uint64_t self,
				      uint64_t *waited_ns)
{
	uint64_t from = kf_now_ns();
	enum kf_lock_result result = wait_for(lock, self);

	*waited_ns = kf_now_ns() - from;
	return result;
}

static enum kf_lock_result lock_take(struct kf_lock *lock, bool ordered,
				     uint64_t *waited_ns)
{
	uint64_t self = kf_thread_self();
	enum kf_lock_result result = KF_LOCK_TAKEN;

	if (unlikely(!kf_claim(&lock->word, self))) {
		if (is_mine(lock)) {
			lock->depth++;
			return KF_LOCK_TAKEN;
		}
		result = waited_ns ? wait_timed(lock, self, waited_ns)
				   : wait_for(lock, self);
	}
	if (result != KF_LOCK_FORKING)
		check_take(lock, ordered);
	return result;
}

enum kf_lock_result kf_lock_take(struct kf_lock *lock)
{
	return lock_take(lock, true, NULL);
}

enum kf_lock_result kf_lock_take_timed(struct kf_lock *lock,
				       uint64_t *waited_ns)
{
	return lock_take(lock, true, waited_ns);
}

void kf_lock_drop(struct kf_lock *lock)
{
	if (lock->depth) {
		lock->depth--;
		return;
	}
	check_drop(lock);
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) & SLEEPERS)
		kf_futex_wake(low_half(lock), 1);
}

static void send_away(struct kf_lock *lock)
{
	kf_store_release(&lock->forking, 1);
	/* pairs with the acquire load of sleep_on() */
	__atomic_fetch_or(&lock->word, SENT_AWAY, __ATOMIC_RELEASE);
	kf_futex_wake(low_half(lock), INT32_MAX);
}

void kf_lock_fork_begin(struct kf_lock *lock)
{
	if (is_mine(lock))
		send_away(lock);
}

void kf_lock_fork_prepare(struct kf_lock *lock)
{
	/*
	 * Of two forks at once the second waits for the first. A signal handler
	 * that forks may hold any lock already, so the order is not checked.
	 */
	while (lock_take(lock, false, NULL) == KF_LOCK_FORKING)
		kf_thread_yield();
	send_away(lock);
}

void kf_lock_fork_done(struct kf_lock *lock, bool child)
{
	kf_store_release(&lock->forking, 0);
	if (!child) {
		kf_lock_drop(lock);
		return;
	}
	check_drop(lock);
	lock->depth = 0;
	kf_store_release(&lock->word, 0);
}
