/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/purge.c: when freed pages go back to the kernel, asked of the kernel
 * itself by mincore().
 */
#include "config.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/pages/support.h"

#define NR_PAGES 256

/* A dirty free run with a run in use behind it: not at a region's end. */
static char *free_dirty_run(void)
{
	struct kf_run *run = floor_take(NR_PAGES, 1);
	char *start = run->start;

	floor_take(1, 1);
	memset(start, 1, NR_PAGES * KF_PAGE);
	kf_pages_free(run);
	ck_assert_int_eq(nr_resident(start, NR_PAGES), NR_PAGES);
	return start;
}

START_TEST(young_pages_stay)
{
	char *start;

	floor_start();
	start = free_dirty_run();
	for (int i = 0; i < 5; i++) {
		nanosleep(&(struct timespec){0, 60000000}, NULL);
		kf_pages_tick();
	}
	ck_assert_int_eq(nr_resident(start, NR_PAGES), NR_PAGES);
	ck_assert_uint_eq(floor_check().dirty, NR_PAGES * KF_PAGE);
}
END_TEST

START_TEST(old_pages_go_back_at_a_tick)
{
	char *start;

	floor_start();
	kf_pages_conf.purge_ms = 1;
	start = free_dirty_run();
	while (nr_resident(start, NR_PAGES)) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		kf_pages_tick();
	}
	ck_assert_uint_eq(floor_check().dirty, 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_returned), NR_PAGES * KF_PAGE);
}
END_TEST

START_TEST(old_pages_go_though_a_small_run_comes_and_goes_beside_them)
{
	char *start;

	floor_start();
	kf_pages_conf.purge_ms = 200;
	start = free_dirty_run();
	while (nr_resident(start, NR_PAGES) > 4) {
		struct kf_run *run = floor_take(4, 1);

		ck_assert_ptr_eq(run->start, start);
		start[0] = 1;
		kf_pages_free(run);
		kf_pages_tick();
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	floor_check();
}
END_TEST

START_TEST(largest_free_run_is_told_after_a_trim)
{
	floor_start();
	free_dirty_run();
	ck_assert_uint_ge(kf_word_get(KF_WORD_largest_free), NR_PAGES);
	kf_pages_trim(0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_largest_free),
			  floor_check().largest);
}
END_TEST

START_TEST(purged_run_reads_as_zeroes_and_says_so)
{
	struct kf_run *run;
	bool zeroed = false;
	char *start;

	floor_start();
	start = free_dirty_run();
	ck_assert_uint_ge(kf_pages_trim(0), NR_PAGES * KF_PAGE);
	ck_assert_int_eq(nr_resident(start, NR_PAGES), 0);
	run = kf_pages_alloc(NR_PAGES, 1, KF_RUN_LARGE, &zeroed);
	ck_assert_ptr_nonnull(run);
	ck_assert_ptr_eq(run->start, start);
	ck_assert(zeroed);
	for (size_t i = 0; i < NR_PAGES * KF_PAGE; i++)
		UNIT_REQUIRE(start[i] == 0);
	floor_check();
}
END_TEST

START_TEST(dirty_run_does_not_say_that_it_is_zero)
{
	bool zeroed = true;
	char *start;

	floor_start();
	start = free_dirty_run();
	ck_assert_ptr_eq(kf_pages_alloc(8, 1, KF_RUN_LARGE, &zeroed)->start,
			 start);
	ck_assert(!zeroed);
}
END_TEST

START_TEST(dirty_pages_above_the_limit_go_at_once)
{
	floor_start();
	kf_pages_conf.dirty_max = 2 * NR_PAGES * KF_PAGE;
	for (int i = 0; i < 10; i++) {
		struct kf_run *runs[6];

		for (int j = 0; j < 6; j++) {
			runs[j] = floor_take(NR_PAGES, 1);
			floor_take(1, 1);
		}
		for (int j = 0; j < 6; j++)
			kf_pages_free(runs[j]);
		ck_assert_uint_le(floor_check().dirty, 2 * NR_PAGES * KF_PAGE);
	}
	ck_assert_uint_gt(kf_word_get(KF_WORD_purges), 0);
}
END_TEST

/* Runs of @nr_pages that are dirty and free, with a page between them. */
static void free_dirty_runs(size_t nr, size_t nr_pages)
{
	struct kf_run *runs[64];

	UNIT_REQUIRE(nr <= KF_ARRAY_SIZE(runs));
	for (size_t i = 0; i < nr; i++) {
		runs[i] = floor_take(nr_pages, 1);
		memset(runs[i]->start, 1, kf_run_bytes(runs[i]));
		floor_take(1, 1);
	}
	for (size_t i = 0; i < nr; i++)
		kf_pages_free(runs[i]);
}

/* What may lie dirty beside a part of what is live. */
#define LIMIT (4 * NR_PAGES * KF_PAGE)

START_TEST(half_of_what_is_in_use_may_be_dirty_as_well)
{
	size_t limit;

	floor_start();
	kf_pages_conf.dirty_max = LIMIT;
	floor_take(8 * NR_PAGES, 1);
	free_dirty_runs(20, NR_PAGES);
	limit = LIMIT + floor_check().large / 2;
	ck_assert_uint_le(floor_check().dirty, limit);
	ck_assert_uint_gt(floor_check().dirty, limit - NR_PAGES * KF_PAGE);
}
END_TEST

START_TEST(what_is_in_use_and_not_live_lets_nothing_be_dirty)
{
	floor_start();
	kf_pages_conf.dirty_max = LIMIT;
	floor_take(8 * NR_PAGES, 1);
	kf_pages_set_live(0);
	free_dirty_runs(20, NR_PAGES);
	/* Of which only those pages are live that came since. */
	ck_assert_uint_le(floor_check().dirty, LIMIT + 10 * KF_PAGE);
}
END_TEST

START_TEST(short_runs_go_too_where_dirty_pages_are_too_many)
{
	floor_start();
	kf_pages_conf.dirty_max = 100 * KF_PAGE;
	free_dirty_runs(64, 8);
	ck_assert_uint_le(floor_check().dirty, (100 + 32) * KF_PAGE);
	ck_assert_uint_gt(kf_word_get(KF_WORD_purges), 0);
}
END_TEST

START_TEST(dirty_pages_that_are_many_for_long_become_few)
{
	size_t large;

	floor_start();
	kf_pages_conf.dirty_max = LIMIT;
	floor_take(20 * NR_PAGES, 1);
	free_dirty_runs(20, NR_PAGES);
	large = floor_check().large;
	ck_assert_uint_gt(floor_check().dirty, LIMIT + large / 3);
	/* As if the ticks of so long had seen it. */
	kf_pages.dirty_low_at = kf_now_ms() - NEVER_MS;
	kf_pages.last_tick -= kf_pages_conf.tick_ms;
	ck_assert(kf_pages_tick());
	ck_assert_uint_le(floor_check().dirty, LIMIT + large / 10);
	ck_assert_uint_gt(floor_check().dirty, LIMIT - NR_PAGES * KF_PAGE);
}
END_TEST

START_TEST(dirty_run_is_taken_before_a_fresh_one_below_it)
{
	struct kf_run *low, *high;
	char *dirty;

	floor_start();
	low = floor_take(NR_PAGES, 1);
	floor_take(1, 1);
	high = floor_take(NR_PAGES, 1);
	floor_take(1, 1);
	dirty = high->start;
	ck_assert(low->start < dirty);
	kf_pages_free(low);
	kf_pages_trim(0);
	kf_pages_free(high);
	ck_assert_ptr_eq(floor_take(NR_PAGES, 1)->start, dirty);
	floor_check();
}
END_TEST

START_TEST(only_what_is_too_much_of_a_long_run_goes)
{
	const size_t limit = 8 * NR_PAGES;
	struct kf_run *runs[2];
	char *low;

	floor_start();
	kf_pages_conf.dirty_max = limit * KF_PAGE;
	kf_pages_conf.trim_threshold = NR_PAGES * KF_PAGE;
	for (int i = 0; i < 2; i++) {
		runs[i] = floor_take(limit - 1, 1);
		memset(runs[i]->start, 1, kf_run_bytes(runs[i]));
	}
	low = runs[0]->start < runs[1]->start ? runs[0]->start : runs[1]->start;
	kf_pages_free(runs[0]);
	kf_pages_free(runs[1]);
	ck_assert_uint_eq(floor_check().dirty, limit * KF_PAGE);
	ck_assert_int_eq(nr_resident(low, limit), (int)limit);
	/* The rest of it was the end of its region. */
	ck_assert_int_eq(nr_resident(low + limit * KF_PAGE, 4 * NR_PAGES), 0);
	ck_assert_uint_eq(floor_check().free, limit * KF_PAGE);
	ck_assert_ptr_eq(floor_take(limit, 1)->start, low);
	floor_check();
}
END_TEST

START_TEST(end_of_a_region_is_given_back_with_its_addresses)
{
	struct kf_run *run;
	size_t committed;

	floor_start();
	kf_pages_conf.trim_threshold = NR_PAGES * KF_PAGE;
	kf_pages_conf.purge_ms = 0;
	run = floor_take(4 * NR_PAGES, 1);
	committed = floor_check().committed;
	memset(run->start, 1, kf_run_bytes(run));
	kf_pages_free(run);
	while (floor_check().committed == committed) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		kf_pages_tick();
	}
	ck_assert_uint_lt(floor_check().committed, KF_GRANULE);
	floor_take(4 * NR_PAGES, 1);
	floor_check();
}
END_TEST

START_TEST(trim_leaves_the_pad)
{
	struct kf_run *run;

	floor_start();
	run = floor_take(4 * NR_PAGES, 1);
	memset(run->start, 1, kf_run_bytes(run));
	kf_pages_free(run);
	kf_pages_trim(NR_PAGES * KF_PAGE);
	ck_assert_uint_eq(floor_check().free, NR_PAGES * KF_PAGE);
	kf_pages_trim(0);
	ck_assert_uint_eq(floor_check().free, 0);
	ck_assert_uint_eq(kf_pages_trim(0), 0);
}
END_TEST

START_TEST(trim_leaves_the_addresses_of_a_short_end)
{
	struct kf_run *runs[2];
	size_t committed;
	char *end;

	floor_start();
	kf_pages_conf.purge_ms = 3600 * 1000;
	runs[0] = floor_take(16 * NR_PAGES, 1);
	runs[1] = floor_take(NR_PAGES, 1);
	end = runs[1]->start;
	memset(end, 1, kf_run_bytes(runs[1]));
	committed = floor_check().committed;
	ck_assert_uint_le(committed, 20 * NR_PAGES * KF_PAGE);
	kf_pages_free(runs[1]);
	/* Its pages go none the less, and are told. */
	ck_assert_uint_eq(kf_pages_trim(0), NR_PAGES * KF_PAGE);
	ck_assert_int_eq(nr_resident(end, NR_PAGES), 0);
	ck_assert_uint_eq(floor_check().committed, committed);
	ck_assert_uint_eq(kf_pages_trim(0), 0);
	/* It is long where little else is left. */
	kf_pages_free(runs[0]);
	ck_assert_uint_gt(kf_pages_trim(0), 0);
	ck_assert_uint_lt(floor_check().committed, KF_GRANULE);
}
END_TEST

START_TEST(locked_pages_are_left_alone)
{
	char *start;

	floor_start();
	start = free_dirty_run();
	/* Not by mlock(), which a sanitizer makes do nothing. */
	ck_assert_int_eq(syscall(SYS_mlock, start, KF_PAGE), 0);
	kf_pages_trim(0);
	ck_assert_int_eq(start[0], 1);
	floor_check();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		young_pages_stay,
		old_pages_go_back_at_a_tick,
		old_pages_go_though_a_small_run_comes_and_goes_beside_them,
		largest_free_run_is_told_after_a_trim,
		purged_run_reads_as_zeroes_and_says_so,
		dirty_run_does_not_say_that_it_is_zero,
		dirty_pages_above_the_limit_go_at_once,
		half_of_what_is_in_use_may_be_dirty_as_well,
		what_is_in_use_and_not_live_lets_nothing_be_dirty,
		short_runs_go_too_where_dirty_pages_are_too_many,
		dirty_pages_that_are_many_for_long_become_few,
		dirty_run_is_taken_before_a_fresh_one_below_it,
		only_what_is_too_much_of_a_long_run_goes,
		end_of_a_region_is_given_back_with_its_addresses,
		trim_leaves_the_pad,
		trim_leaves_the_addresses_of_a_short_end,
		locked_pages_are_left_alone,
	};

	return unit_run("pages/purge", tests, KF_ARRAY_SIZE(tests));
}
