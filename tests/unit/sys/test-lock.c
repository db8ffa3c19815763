/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sys/lock.c: who gets a lock, and that nobody waits for one over a fork.
 */
#include "config.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/lock.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

static struct kf_lock lock = KF_LOCK_INIT(KF_RANK_PAGES);
static bool asleep;

static void *take(void *result)
{
	__atomic_store_n(&asleep, true, __ATOMIC_RELEASE);
	*(enum kf_lock_result *)result = kf_lock_take(&lock);
	if (*(enum kf_lock_result *)result != KF_LOCK_FORKING)
		kf_lock_drop(&lock);
	return NULL;
}

/* A thread that is about to wait, or waits, for the lock. */
static pthread_t start_waiter(enum kf_lock_result *result)
{
	pthread_t thread;

	__atomic_store_n(&asleep, false, __ATOMIC_RELEASE);
	ck_assert_int_eq(pthread_create(&thread, NULL, take, result), 0);
	while (!__atomic_load_n(&asleep, __ATOMIC_ACQUIRE))
		kf_thread_yield();
	return thread;
}

START_TEST(owner_takes_its_lock_again)
{
	ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
	ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
	kf_lock_drop(&lock);
	ck_assert_uint_ne(lock.word, 0);
	kf_lock_drop(&lock);
	ck_assert_uint_eq(lock.word, 0);
}
END_TEST

START_TEST(waiter_gets_the_lock_after_its_owner)
{
	enum kf_lock_result result = KF_LOCK_FORKING;

	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
		thread = start_waiter(&result);
		kf_lock_drop(&lock);
		pthread_join(thread, NULL);
		ck_assert_int_ne(result, KF_LOCK_FORKING);
	}
}
END_TEST

static void *take_timed(void *waited_ns)
{
	__atomic_store_n(&asleep, true, __ATOMIC_RELEASE);
	if (kf_lock_take_timed(&lock, waited_ns) != KF_LOCK_FORKING)
		kf_lock_drop(&lock);
	return NULL;
}

START_TEST(wait_is_measured)
{
	uint64_t waited_ns = 23, from, until;
	pthread_t thread;

	ck_assert_int_eq(kf_lock_take_timed(&lock, &waited_ns), KF_LOCK_TAKEN);
	ck_assert_uint_eq(waited_ns, 23);
	__atomic_store_n(&asleep, false, __ATOMIC_RELEASE);
	from = kf_now_ns();
	pthread_create(&thread, NULL, take_timed, &waited_ns);
	/* Until it sleeps on the lock: then it was there for some time. */
	while (!(__atomic_load_n(&lock.word, __ATOMIC_ACQUIRE) & 1))
		kf_thread_yield();
	kf_lock_drop(&lock);
	pthread_join(thread, NULL);
	until = kf_now_ns();
	ck_assert_uint_ne(waited_ns, 23);
	ck_assert_uint_gt(waited_ns, 0);
	ck_assert_uint_le(waited_ns, until - from);
}
END_TEST

/* Wherever it is on its way to sleep: each round it has come less far. */
START_TEST(waiter_is_sent_away_by_a_fork)
{
	enum kf_lock_result result = KF_LOCK_TAKEN;

	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
		thread = start_waiter(&result);
		for (int j = i; j < 100; j++)
			kf_thread_yield();
		kf_lock_fork_begin(&lock);
		kf_lock_fork_prepare(&lock);
		pthread_join(thread, NULL);
		ck_assert_int_eq(result, KF_LOCK_FORKING);
		kf_lock_fork_done(&lock, false);
		kf_lock_drop(&lock);
		ck_assert_uint_eq(lock.word, 0);
	}
}
END_TEST

/* The kernel compares the word before a thread sleeps on it. */
START_TEST(word_of_a_lock_changes_when_a_fork_holds_it)
{
	uint64_t word;

	ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
	word = lock.word;
	kf_lock_fork_begin(&lock);
	ck_assert_uint_ne((uint32_t)lock.word, (uint32_t)word);
	ck_assert_int_eq(kf_lock_take(&lock), KF_LOCK_TAKEN);
	kf_lock_drop(&lock);
	kf_lock_fork_prepare(&lock);
	kf_lock_fork_done(&lock, false);
	kf_lock_drop(&lock);
	ck_assert_uint_eq(lock.word, 0);
}
END_TEST

START_TEST(child_begins_with_a_free_lock)
{
	pid_t pid;
	int status;

	kf_lock_fork_prepare(&lock);
	pid = fork();
	kf_lock_fork_done(&lock, pid == 0);
	if (pid == 0)
		_exit(lock.word || kf_lock_take(&lock) != KF_LOCK_TAKEN);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(lock.word, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		owner_takes_its_lock_again,
		waiter_gets_the_lock_after_its_owner,
		wait_is_measured,
		waiter_is_sent_away_by_a_fork,
		word_of_a_lock_changes_when_a_fork_holds_it,
		child_begins_with_a_free_lock,
	};

	return unit_run("sys/lock", tests, KF_ARRAY_SIZE(tests));
}
