/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/purge.c: what is true while the kernel takes pages back and the lock is
 * free.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages/internal.h"
#include "tests/unit/pages/support.h"

#define NR_PAGES 512
#define NR_THREADS 4
#define ROUNDS 400
#define FORKS 40

/* A run out of reach, as between the two halves of a purge by @purger. */
static struct kf_run *leave_in_purging(uintptr_t purger)
{
	struct kf_run *run = floor_take(NR_PAGES, 1);

	floor_take(1, 1);
	memset(run->start, 1, NR_PAGES * KF_PAGE);
	kf_pages_free(run);
	UNIT_REQUIRE(kf_pages_lock());
	kf_purge_begin(run, run->dirty);
	kf_pages.purger = purger;
	kf_pages_unlock();
	return run;
}

static void fork_as_child(void)
{
	kf_pages_fork_begin();
	kf_pages_fork_prepare();
	kf_pages_fork_done(true);
}

START_TEST(run_counts_as_free_while_it_is_purged)
{
	struct kf_pages_sums before, now;

	floor_start();
	floor_take(NR_PAGES + 1, 1);
	before = floor_check();
	leave_in_purging(1);
	now = floor_check();
	ck_assert_uint_eq(now.dirty, before.dirty + NR_PAGES * KF_PAGE);
	ck_assert_uint_eq(kf_word_get(KF_WORD_dirty), now.dirty);
	ck_assert_uint_eq(kf_word_get(KF_WORD_free_runs), now.free);
}
END_TEST

START_TEST(run_is_put_back_in_a_child_without_its_thread)
{
	struct kf_run *run;

	floor_start();
	run = leave_in_purging(1);
	fork_as_child();
	ck_assert_ptr_eq(kf_pages.purging, run);
	UNIT_REQUIRE(kf_pages_lock());
	ck_assert_ptr_null(kf_pages.purging);
	kf_pages_unlock();
	ck_assert_uint_eq(run->clean, 0);
	ck_assert_uint_eq(floor_check().dirty, NR_PAGES * KF_PAGE);
}
END_TEST

/* It was interrupted by the signal whose handler forks, and goes on. */
START_TEST(run_stays_in_a_child_with_its_thread)
{
	struct kf_run *run;

	floor_start();
	run = leave_in_purging(kf_thread_self());
	fork_as_child();
	UNIT_REQUIRE(kf_pages_lock());
	ck_assert_ptr_eq(kf_pages.purging, run);
	kf_pages_unlock();
	floor_check();
}
END_TEST

START_TEST(run_is_put_back_by_the_next_where_its_thread_had_to_leave)
{
	struct kf_run *run;

	floor_start();
	run = leave_in_purging(1);
	kf_pages.purge_result = KF_PURGE_DONE;
	UNIT_REQUIRE(kf_pages_lock());
	ck_assert_ptr_null(kf_pages.purging);
	kf_pages_unlock();
	ck_assert_uint_eq(run->dirty, 0);
	ck_assert_uint_eq(floor_check().dirty, 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_purges), 1);
	ck_assert_uint_eq(kf_word_get(KF_WORD_returned), NR_PAGES * KF_PAGE);
}
END_TEST

static void *churn(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		size_t nr = 16 + (size_t)(i * 37 + (intptr_t)arg * 11) % 300;
		bool zeroed;
		struct kf_run *run =
			kf_pages_alloc(nr, 1, KF_RUN_LARGE, &zeroed);

		UNIT_REQUIRE(run);
		for (size_t k = 0; zeroed && k < nr; k++)
			UNIT_REQUIRE(!run->start[k * KF_PAGE]);
		memset(run->start, (int)(intptr_t)arg + 1, nr * KF_PAGE);
		kf_pages_tick();
		UNIT_REQUIRE(run->start[nr * KF_PAGE - 1] ==
			     (char)((intptr_t)arg + 1));
		kf_pages_free(run);
	}
	return NULL;
}

/*
 * Not all of kf_pages_check(): another thread of the parent may have been about
 * to count a run that it made without the lock.
 */
static bool free_runs_add_up(void)
{
	struct kf_pages_sums sums;
	const char *wrong = kf_pages_check(&sums);

	return kf_word_get(KF_WORD_free_runs) == sums.free &&
	       kf_word_get(KF_WORD_dirty) == sums.dirty &&
	       kf_word_get(KF_WORD_purged) == sums.free - sums.dirty &&
	       (!wrong || strstr(wrong, "what is held"));
}

static void fork_once(void)
{
	pid_t child;
	int status;

	kf_pages_fork_begin();
	kf_pages_fork_prepare();
	child = fork();
	kf_pages_fork_done(child == 0);
	if (child == 0) {
		churn((void *)9);
		_exit(!free_runs_add_up());
	}
	UNIT_REQUIRE(child > 0);
	UNIT_REQUIRE(waitpid(child, &status, 0) == child);
	ck_assert_int_eq(status, 0);
}

START_TEST(purges_among_threads_and_forks_lose_nothing)
{
	pthread_t threads[NR_THREADS];

	floor_start();
	kf_pages_conf.dirty_max = KF_MIB;
	kf_pages_conf.purge_ms = 0;
	for (intptr_t i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(
			!pthread_create(&threads[i], NULL, churn, (void *)i));
	for (int i = 0; i < FORKS; i++)
		fork_once();
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_join(threads[i], NULL));
	ck_assert_uint_gt(kf_word_get(KF_WORD_purges), 0);
	floor_check();
	kf_pages_trim(0);
	ck_assert_uint_eq(floor_check().dirty, 0);
	ck_assert_ptr_null(kf_pages.purging);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		run_counts_as_free_while_it_is_purged,
		run_is_put_back_in_a_child_without_its_thread,
		run_stays_in_a_child_with_its_thread,
		run_is_put_back_by_the_next_where_its_thread_had_to_leave,
		purges_among_threads_and_forks_lose_nothing,
	};

	return unit_run("pages/purging", tests, KF_ARRAY_SIZE(tests));
}
