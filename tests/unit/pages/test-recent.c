/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/recent.c: a mapping that was freed a moment ago serves the next request
 * of about its size, and is free memory like any other until then.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "tests/unit/pages/support.h"

#define NR_PAGES 64

static void start(void)
{
	floor_start();
	kf_pages_conf.recent_max = 32;
}

static struct kf_run *take_mapped(size_t nr_pages)
{
	bool zeroed;
	struct kf_run *run = kf_pages_map(nr_pages, 1, &zeroed);

	ck_assert_ptr_nonnull(run);
	ck_assert_int_eq(run->kind, KF_RUN_MAPPED);
	ck_assert_uint_eq(run->nr_pages, nr_pages);
	return run;
}

/* Calls to the kernel that the words know of, and work on the free runs. */
static uint64_t effort(void)
{
	return kf_word_get(KF_WORD_mmaps) + kf_word_get(KF_WORD_munmaps) +
	       kf_word_get(KF_WORD_purges) + kf_word_get(KF_WORD_searches) +
	       kf_word_get(KF_WORD_splits) + kf_word_get(KF_WORD_coalesces);
}

START_TEST(loop_of_a_mapping_calls_the_kernel_once)
{
	struct kf_run *run;
	uint64_t before;

	start();
	run = take_mapped(10000);
	memset(run->start, 1, kf_run_bytes(run));
	before = effort();
	for (int i = 0; i < 20; i++) {
		kf_pages_free(run);
		ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
		floor_check();
		run = take_mapped(10000);
		ck_assert_int_eq(nr_resident(run->start, 4096), 4096);
		ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
	}
	ck_assert_uint_eq(effort(), before);
}
END_TEST

START_TEST(mapping_is_made_to_fit)
{
	static const size_t lengths[] = {1000, 1999, 1001, 600, 1200, 601};
	struct kf_run *run = NULL;

	start();
	run = take_mapped(lengths[0]);
	for (size_t i = 0; i < KF_ARRAY_SIZE(lengths); i++) {
		memset(run->start, 1, kf_run_bytes(run));
		kf_pages_free(run);
		run = take_mapped(lengths[i]);
		/* Its pages came along. */
		ck_assert_int_eq(nr_resident(run->start, 600), 600);
		ck_assert_ptr_eq(kf_map_find(run->start), run);
		floor_check();
	}
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 601 * KF_PAGE);
}
END_TEST

START_TEST(much_shorter_mapping_is_a_new_one)
{
	struct kf_run *run;
	bool zeroed = false;

	start();
	kf_pages_free(take_mapped(1000));
	run = kf_pages_map(100, 1, &zeroed);
	ck_assert_ptr_nonnull(run);
	ck_assert(zeroed);
	floor_check();
}
END_TEST

START_TEST(recent_mapping_does_not_say_that_it_is_zero)
{
	bool zeroed;

	start();
	kf_pages_free(take_mapped(1000));
	zeroed = true;
	ck_assert_ptr_nonnull(kf_pages_map(1000, 1, &zeroed));
	ck_assert(!zeroed);
}
END_TEST

START_TEST(recent_mapping_is_known_to_be_free)
{
	struct kf_run *mapped;

	start();
	mapped = take_mapped(NR_PAGES);
	kf_pages_free(mapped);
	ck_assert_uint_eq(kf_floor.nr_recent, 1);
	ck_assert_ptr_eq(kf_map_find(mapped->start), mapped);
	ck_assert_int_eq(mapped->kind, KF_RUN_FREE);
	ck_assert_uint_eq(floor_check().large, 0);
}
END_TEST

START_TEST(mapping_goes_before_fresh_memory_is_taken)
{
	struct kf_run *run;
	char *at;

	start();
	run = take_mapped(1000);
	at = run->start;
	kf_pages_free(run);
	ck_assert_int_ge(nr_resident(at, 1000), 0);
	floor_take(1000, 1);
	ck_assert_int_eq(nr_resident(at, 1000), -1);
	ck_assert_ptr_null(kf_map_find(at));
	floor_check();
}
END_TEST

START_TEST(trim_leaves_none)
{
	struct kf_run *runs[2];

	start();
	runs[0] = take_mapped(1000);
	runs[1] = take_mapped(3000);
	kf_pages_free(runs[0]);
	kf_pages_free(runs[1]);
	ck_assert_uint_eq(kf_floor.nr_recent, 2);
	kf_pages_trim(0);
	ck_assert_uint_eq(kf_floor.nr_recent, 0);
	ck_assert_uint_eq(floor_check().dirty, 0);
}
END_TEST

START_TEST(old_mapping_goes_at_a_tick)
{
	start();
	kf_pages_conf.purge_ms = 1;
	kf_pages_free(take_mapped(1000));
	while (kf_floor.nr_recent) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		kf_pages_tick();
	}
	ck_assert_uint_eq(kf_word_get(KF_WORD_free_runs), 0);
	floor_check();
}
END_TEST

START_TEST(mapping_above_the_limit_is_not_kept)
{
	start();
	kf_pages_conf.dirty_max = 500 * KF_PAGE;
	kf_pages_free(take_mapped(501));
	ck_assert_uint_eq(kf_floor.nr_recent, 0);
	kf_pages_free(take_mapped(500));
	ck_assert_uint_eq(kf_floor.nr_recent, 1);
	floor_check();
}
END_TEST

START_TEST(oldest_mappings_give_way)
{
	struct kf_run *runs[4];
	char *at[4];

	start();
	kf_pages_conf.recent_max = 3;
	for (size_t i = 0; i < 4; i++) {
		runs[i] = take_mapped(1000);
		at[i] = runs[i]->start;
	}
	for (size_t i = 0; i < 4; i++)
		kf_pages_free(runs[i]);
	ck_assert_uint_eq(kf_floor.nr_recent, 3);
	ck_assert_ptr_null(kf_map_find(at[0]));
	/* Fresh pages: so many go for them. */
	floor_take(1001, 1);
	ck_assert_uint_eq(kf_floor.nr_recent, 1);
	ck_assert_ptr_eq(kf_map_find(at[3]), runs[3]);
	floor_check();
}
END_TEST

START_TEST(random_lengths_leave_every_byte_counted)
{
	static struct kf_run *runs[200];
	unsigned int most = 0;
	uint64_t state = 5;

	start();
	for (int i = 0; i < 60000; i++) {
		size_t n = chance_below(&state, KF_ARRAY_SIZE(runs));
		bool zeroed;

		if (runs[n]) {
			kf_pages_free(runs[n]);
			runs[n] = NULL;
		} else if (chance_below(&state, 20) == 0) {
			runs[n] = take_mapped(1 + chance_below(&state, 40));
		} else {
			runs[n] = kf_pages_alloc(1 + chance_below(&state, 12),
						 1, KF_RUN_LARGE, &zeroed);
		}
		if (i % 50 == 0)
			floor_check();
		most = KF_MAX(most, kf_floor.nr_recent);
	}
	ck_assert_uint_gt(most, 2);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		loop_of_a_mapping_calls_the_kernel_once,
		mapping_is_made_to_fit,
		much_shorter_mapping_is_a_new_one,
		recent_mapping_does_not_say_that_it_is_zero,
		recent_mapping_is_known_to_be_free,
		mapping_goes_before_fresh_memory_is_taken,
		trim_leaves_none,
		old_mapping_goes_at_a_tick,
		mapping_above_the_limit_is_not_kept,
		oldest_mappings_give_way,
		random_lengths_leave_every_byte_counted,
	};

	return unit_run("pages/recent", tests, KF_ARRAY_SIZE(tests));
}
