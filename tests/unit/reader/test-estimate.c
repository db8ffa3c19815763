/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/estimate.c: estimates and intervals, against sums by hand.
 */
#include "config.h"

#include "reader/estimate.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

/* Three blocks' worth of samples, one of which was freed. */
static const struct kf_stats_stack stack = {
	.allocated = 3000000,
	.freed = 1000000,
	.allocated_blocks = 300 * KF_STATS_BLOCK_PARTS,
	.freed_blocks = 100 * KF_STATS_BLOCK_PARTS,
	.peak = 2500000,
	.peak_blocks = 250 * KF_STATS_BLOCK_PARTS,
	.variance = 900,
	.freed_variance = 300,
};

static double error_of(enum kf_estimate_kind kind)
{
	return kf_estimate_error(kf_estimate_stack(&stack, kind));
}

static double value_of(enum kf_estimate_kind kind)
{
	return kf_estimate_stack(&stack, kind).value;
}

START_TEST(live_is_allocated_less_freed)
{
	ck_assert_double_eq(value_of(KF_ESTIMATE_LIVE), 2e6);
	ck_assert_double_eq(value_of(KF_ESTIMATE_LIVE_BLOCKS), 200);
	ck_assert_double_eq(value_of(KF_ESTIMATE_ALLOCATED), 3e6);
	ck_assert_double_eq(value_of(KF_ESTIMATE_ALLOCATED_BLOCKS), 300);
	ck_assert_double_eq(value_of(KF_ESTIMATE_PEAK), 2.5e6);
	ck_assert_double_eq(value_of(KF_ESTIMATE_PEAK_BLOCKS), 250);
}
END_TEST

START_TEST(interval_follows_from_the_variance)
{
	double live = 1.96 * sqrt(600 * 1048576.0);

	ck_assert_double_eq_tol(error_of(KF_ESTIMATE_LIVE), live, 1e-6);
	ck_assert_double_eq_tol(error_of(KF_ESTIMATE_ALLOCATED),
				1.96 * sqrt(900 * 1048576.0), 1e-6);
	/* Of 200 blocks as much in proportion as of 2 million bytes. */
	ck_assert_double_eq_tol(error_of(KF_ESTIMATE_LIVE_BLOCKS), live / 1e4,
				1e-9);
}
END_TEST

START_TEST(three_samples_are_a_poor_estimate)
{
	struct kf_estimate three = {3e6, 3e12}, four = {4e6, 4e12};
	char text[KF_SAMPLE_HINT];

	ck_assert(kf_estimate_is_poor(three));
	ck_assert(!kf_estimate_is_poor(four));
	ck_assert(!kf_estimate_is_poor((struct kf_estimate){0, 0}));
	ck_assert_str_eq(kf_sample_hint(text, sizeof(text), "--sample=", 0),
			 "--sample=32K takes at least 16 times as many");
	ck_assert_str_eq(kf_sample_hint(text, sizeof(text), "--sample=", 16384),
			 "--sample=1K takes at least 16 times as many");
	ck_assert_str_eq(kf_sample_hint(text, sizeof(text), "--sample=", 16383),
			 "--sample=1 samples every block");
	kf_sample_hint(text, sizeof(text),
		       "konfiscator ctl 2147483647 sample=", UINT64_MAX);
	ck_assert_str_eq(text + strlen(text) - 8, " as many");
}
END_TEST

START_TEST(errors_of_a_sum_add_up_as_squares)
{
	struct kf_estimate a = {100, 9}, b = {50, 16};
	struct kf_estimate sum = kf_estimate_sum(a, b);

	ck_assert_double_eq(sum.value, 150);
	ck_assert_double_eq_tol(kf_estimate_error(sum), 1.96 * 5, 1e-9);
}
END_TEST

START_TEST(counters_of_different_moments_give_no_huge_number)
{
	struct kf_stats_stack torn = stack;

	torn.freed = torn.allocated + 1;
	torn.freed_variance = torn.variance + 1;
	torn.freed_blocks = torn.allocated_blocks + 1;
	ck_assert_double_eq(kf_estimate_stack(&torn, KF_ESTIMATE_LIVE).value,
			    0);
	ck_assert_double_eq(
		kf_estimate_stack(&torn, KF_ESTIMATE_LIVE_BLOCKS).value, 0);
	ck_assert_double_eq(
		kf_estimate_error(kf_estimate_stack(&torn, KF_ESTIMATE_LIVE)),
		0);
}
END_TEST

START_TEST(each_reason_why_stacks_are_not_whole_is_told_once)
{
	struct kf_stats_stack stacks[] = {
		{.hash = 1, .samples = 3, .flags = KF_STACK_OVERFLOW},
		{.hash = 1, .samples = 4, .flags = KF_STACK_NO_OUTER},
		{.hash = KF_GENERATION_UNSURE, .samples = 5},
		{.hash = 1, .samples = 6, .flags = KF_STACK_NO_TABLES},
		{.hash = 1, .samples = 2, .flags = KF_STACK_NO_CALLS},
		{.hash = KF_GENERATION_LAST, .samples = 7},
		{.hash = 0, .samples = 8, .flags = KF_STACK_OVERFLOW},
	};
	struct kf_snapshot s = {.stacks = stacks,
				.nr_stacks = KF_ARRAY_SIZE(stacks)};
	char text[KF_STACKS_LOST_TEXT];

	ck_assert(kf_stacks_lost_say(&s, text, sizeof(text)));
	ck_assert_str_eq(
		text,
		"3 samples were counted without their stacks: the table of "
		"stacks was full; 4 samples lack outer calls: the table of "
		"calls was full; KONFISCATOR_SAMPLE_STACKS sets its size; 2 "
		"samples lack calls of Python: they could not be read, or "
		"their table was full; some calls of 5 samples have no names: objects were loaded and "
		"closed at their addresses; record --ebpf, glibc before 2.35, or a library "
		"built with it or with GCC before 12: stacks by frame pointers "
		"only");
}
END_TEST

START_TEST(the_longest_text_has_room)
{
	const struct kf_stacks_lost most = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
					    UINT64_MAX, UINT64_MAX};
	char text[KF_STACKS_LOST_TEXT];

	ck_assert(kf_stacks_lost_text(&most, text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "frame pointers only"));
}
END_TEST

START_TEST(nothing_is_told_of_whole_stacks)
{
	struct kf_stats_stack whole = {.hash = 1, .samples = 9};
	struct kf_snapshot s = {.stacks = &whole, .nr_stacks = 1};
	char text[KF_STACKS_LOST_TEXT];

	ck_assert(!kf_stacks_lost_say(&s, text, sizeof(text)));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		live_is_allocated_less_freed,
		interval_follows_from_the_variance,
		three_samples_are_a_poor_estimate,
		errors_of_a_sum_add_up_as_squares,
		counters_of_different_moments_give_no_huge_number,
		each_reason_why_stacks_are_not_whole_is_told_once,
		the_longest_text_has_room,
		nothing_is_told_of_whole_stacks,
	};

	return unit_run("reader/estimate", tests, KF_ARRAY_SIZE(tests));
}
