/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/verdict.c: what rises and falls again is no leak, however it is
 * watched, and what leaks is one, whatever else the program does.
 */
#include "config.h"

#include "reader/verdict.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1 << 20)
#define BASE (20 * MIB)
#define TOOTH (16 * MIB)
#define NR 17 /* looks */

/* Of a program that runs on and on: what it has after so many moments. */
typedef uint64_t shape_fn(unsigned int moment, unsigned int period);

static uint64_t sawtooth(unsigned int moment, unsigned int period)
{
	return BASE + (uint64_t)TOOTH * (moment % period) / period;
}

static uint64_t triangle(unsigned int moment, unsigned int period)
{
	unsigned int at = 2 * (moment % period);

	return BASE +
	       (uint64_t)TOOTH * (at < period ? at : 2 * period - at) / period;
}

/* Load and unload, with nothing between. */
static uint64_t square(unsigned int moment, unsigned int period)
{
	return BASE + (moment % period < period / 2 ? 0 : TOOTH);
}

/* Teeth on a slope of a whole tooth each eight moments. */
static uint64_t slope(unsigned int moment, unsigned int period)
{
	return sawtooth(moment, period) + (uint64_t)TOOTH * moment / 8;
}

/* A leak of a block now and then, in steps. */
static uint64_t stairs(unsigned int moment, unsigned int period)
{
	return BASE + (uint64_t)MIB * (moment / period);
}

static uint64_t flat(unsigned int moment, unsigned int period)
{
	return BASE + moment % period;
}

/* What is said of looks from @from on, by one who has all that it ever had. */
static enum kf_verdict judged(shape_fn *shape, unsigned int period,
			      unsigned int from)
{
	struct kf_counter peak = {.name = "peak_held"};
	struct kf_snapshot s = {.counters = &peak, .nr_counters = 1};
	struct kf_case c = {.snap = &s, .seconds = 2, .nr_used = NR};
	struct kf_explained e;
	uint64_t used[NR], most = 0;

	for (unsigned int i = 0; i < from + NR; i++) {
		uint64_t now = shape(i, period);

		most = most < now ? now : most;
		if (i <= from)
			c.before = most;
		if (i >= from)
			used[i - from] = now;
	}
	c.used = used;
	peak.value = most;
	s.totals.live = s.totals.held = used[NR - 1];
	kf_explain_case(&c, &e);
	ck_assert_ptr_nonnull(e.why);
	kf_explained_release(&e);
	return e.verdict;
}

START_TEST(what_rises_and_falls_is_no_leak)
{
	shape_fn *const shapes[] = {sawtooth, triangle, square, flat};

	for (unsigned int period = 2; period < 200; period++) {
		for (unsigned int i = 0; i < 4 * period; i++) {
			/* a period has been seen, by somebody */
			for (size_t n = 0; n < KF_ARRAY_SIZE(shapes); n++)
				UNIT_REQUIRE(
					judged(shapes[n], period, period + i) ==
					KF_VERDICT_IN_USE);
		}
	}
}
END_TEST

START_TEST(what_rises_under_teeth_is_a_leak)
{
	for (unsigned int period = 2; period <= 4; period++) {
		for (unsigned int from = 0; from < 2 * period; from++)
			UNIT_REQUIRE(judged(slope, period, from) ==
				     KF_VERDICT_LEAK);
	}
}
END_TEST

START_TEST(what_rises_step_by_step_is_a_leak)
{
	for (unsigned int period = 1; period <= 5; period++) {
		for (unsigned int from = 0; from < 3 * period; from++)
			UNIT_REQUIRE(judged(stairs, period, from) ==
				     KF_VERDICT_LEAK);
	}
}
END_TEST

/* Data that is loaded while it is watched, once. */
START_TEST(one_step_is_no_leak)
{
	for (unsigned int from = 0; from < 100; from++)
		UNIT_REQUIRE(judged(stairs, 50, from) == KF_VERDICT_IN_USE);
}
END_TEST

START_TEST(growth_below_an_earlier_peak_is_told)
{
	struct kf_counter peak = {.name = "peak_held", .value = 64 * MIB};
	struct kf_snapshot s = {.counters = &peak, .nr_counters = 1};
	struct kf_case c = {.snap = &s, .seconds = 2, .nr_used = NR};
	struct kf_explained e;
	uint64_t used[NR];

	for (unsigned int i = 0; i < NR; i++)
		used[i] = BASE + i * (uint64_t)MIB;
	s.totals.live = s.totals.held = used[NR - 1];
	c.used = used;
	c.before = peak.value;
	kf_explain_case(&c, &e);
	ck_assert_int_eq(e.verdict, KF_VERDICT_IN_USE);
	ck_assert_ptr_nonnull(strstr(e.why, "grew by 16.0Mi in 2.0 s"));
	ck_assert_ptr_nonnull(strstr(e.why, "was larger before, 64.0Mi"));
	kf_explained_release(&e);
	/* the same, as the heap goes beyond that */
	peak.value += 8 * MIB;
	kf_explain_case(&c, &e);
	ck_assert_int_eq(e.verdict, KF_VERDICT_LEAK);
	kf_explained_release(&e);
}
END_TEST

/* This process: its heap is as good as nothing beside its other memory. */
START_TEST(blocks_from_before_an_attach_are_no_other_memory)
{
	struct kf_snapshot s = {.totals = {.live = 4096, .held = 4096}};
	struct kf_case c = {.snap = &s, .procfs = "/proc", .pid = getpid()};
	struct kf_explained e;

	kf_explain_case(&c, &e);
	ck_assert_int_eq(e.verdict, KF_VERDICT_NOT_THE_HEAP);
	ck_assert_ptr_null(strstr(e.why, "attach"));
	kf_explained_release(&e);
	s.attached = true;
	kf_explain_case(&c, &e);
	ck_assert_int_eq(e.verdict, KF_VERDICT_IN_USE);
	ck_assert_ptr_nonnull(strstr(
		e.why,
		"; blocks from before the attach count as not the heap"));
	kf_explained_release(&e);
}
END_TEST

/* 100 blocks of 1 KiB were allocated. */
static enum kf_verdict judged_ended(bool ended, uint64_t live, const char *says)
{
	struct kf_snapshot s = {.totals = {.live = live << 10,
					   .live_blocks = live,
					   .allocated = 100 << 10,
					   .held = 1 << 20}};
	struct kf_case c = {.snap = &s, .ended = ended};
	struct kf_explained e;

	kf_explain_case(&c, &e);
	ck_assert_ptr_nonnull(strstr(e.why, says));
	kf_explained_release(&e);
	return e.verdict;
}

START_TEST(what_was_live_at_the_end_was_never_freed)
{
	ck_assert_int_eq(judged_ended(true, 95,
				      "held 95.0Ki at its end, in 95 blocks "
				      "that were never freed, 95% of the "
				      "100.0Ki allocated; whether it still"),
			 KF_VERDICT_NEVER_FREED);
	ck_assert_int_eq(judged_ended(true, 64, "64%"), KF_VERDICT_NEVER_FREED);
	ck_assert_int_eq(judged_ended(true, 63, "63%"), KF_VERDICT_IN_USE);
	/* of a parent's blocks nobody knows what they are a part of */
	ck_assert_int_eq(judged_ended(true, 101, "never freed; whether"),
			 KF_VERDICT_IN_USE);
	/* a process that is hidden may free them yet */
	ck_assert_int_eq(judged_ended(false, 95, "the program uses 95.0Ki"),
			 KF_VERDICT_IN_USE);
}
END_TEST

START_TEST(a_leak_since_an_attach_says_so)
{
	struct kf_counter peak = {.name = "peak_held", .value = 64 * MIB};
	struct kf_snapshot s = {
		.counters = &peak, .nr_counters = 1, .attached = true};
	struct kf_case c = {.snap = &s, .seconds = 2, .nr_used = NR};
	struct kf_explained e;
	uint64_t used[NR];

	for (unsigned int i = 0; i < NR; i++)
		used[i] = BASE + i * (uint64_t)MIB;
	s.totals.live = s.totals.held = used[NR - 1];
	c.used = used;
	kf_explain_case(&c, &e);
	ck_assert_int_eq(e.verdict, KF_VERDICT_LEAK);
	ck_assert_ptr_nonnull(
		strstr(e.why, "the heap was never larger since the attach;"));
	kf_explained_release(&e);
}
END_TEST

/* 4 MiB in huge pages: 1 of them live, 2 unused and 1 of others. */
START_TEST(huge_pages_have_free_memory)
{
	struct kf_snapshot s = {
		.totals = {.live = MIB, .free = 2 * MIB, .held = 3 * MIB}};
	struct kf_case c = {
		.snap = &s, .procfs = support_dir, .pid = 7, .mappings = true};
	struct kf_explained e;

	support_begin();
	support_text("2000 1024 0\n", "7/statm");
	support_text("200000-800000 rw-p 00000000 00:00 0 \n"
		     "Rss: 4096 kB\nAnonHugePages: 4096 kB\n"
		     "VmFlags: rd wr\n",
		     "7/smaps");
	kf_explain_case(&c, &e);
	ck_assert(e.facts.mappings_known);
	ck_assert_uint_eq(e.facts.huge, 2 * MIB);
	ck_assert_uint_eq(e.facts.others, MIB);
	ck_assert_uint_eq(e.facts.absent, 0);
	ck_assert_uint_eq(e.facts.resident, 4 * MIB);
	kf_explained_release(&e);
	/* what is live and has no pages hides the others */
	s.totals.live = s.totals.held = 6 * MIB;
	s.totals.free = 0;
	kf_explain_case(&c, &e);
	ck_assert_uint_eq(e.facts.absent, 2 * MIB);
	ck_assert_uint_eq(e.facts.others + e.facts.huge, 0);
	kf_explained_release(&e);
	ck_assert_int_eq(remove(support_path("7/smaps")), 0);
	kf_explain_case(&c, &e);
	ck_assert(!e.facts.mappings_known && e.facts.resident_known);
	kf_explained_release(&e);
}
END_TEST

/* What is said of a process that has ended after an hour, by its history. */
static enum kf_verdict remembered(shape_fn *shape, unsigned int period)
{
	struct kf_counter word[] = {
		{.name = "peak_held"},
		{.name = "seen_at", .value = 3600 * 1000},
	};
	struct kf_stats_moment moment[KF_STATS_MOMENTS];
	struct kf_snapshot s = {.counters = word,
				.nr_counters = KF_ARRAY_SIZE(word),
				.moments = moment,
				.nr_moments = KF_STATS_MOMENTS};
	struct kf_case c = {.snap = &s, .ended = true};
	struct kf_explained e;

	/* one each ten seconds, at the end */
	for (unsigned int i = 0; i < KF_STATS_MOMENTS; i++) {
		uint64_t used = shape(i, period);

		moment[i] = (struct kf_stats_moment){
			.time = (uint64_t)(2960 + 10 * i) * 1000000000,
			.live = used,
			.held = used,
		};
		word[0].value = KF_MAX(word[0].value, used);
	}
	s.totals.live = s.totals.held = shape(KF_STATS_MOMENTS, period);
	kf_explain_case(&c, &e);
	ck_assert_ptr_nonnull(e.why);
	kf_explained_release(&e);
	return e.verdict;
}

START_TEST(history_of_the_ended_is_as_a_watch)
{
	for (unsigned int period = 2; period <= 10; period++) {
		UNIT_REQUIRE(remembered(sawtooth, period) != KF_VERDICT_LEAK);
		UNIT_REQUIRE(remembered(triangle, period) != KF_VERDICT_LEAK);
		UNIT_REQUIRE(remembered(square, period) != KF_VERDICT_LEAK);
		UNIT_REQUIRE(remembered(flat, period) != KF_VERDICT_LEAK);
		UNIT_REQUIRE(remembered(slope, period) == KF_VERDICT_LEAK);
		UNIT_REQUIRE(remembered(stairs, period) == KF_VERDICT_LEAK);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		what_rises_and_falls_is_no_leak,
		what_rises_under_teeth_is_a_leak,
		what_rises_step_by_step_is_a_leak,
		one_step_is_no_leak,
		growth_below_an_earlier_peak_is_told,
		blocks_from_before_an_attach_are_no_other_memory,
		what_was_live_at_the_end_was_never_freed,
		a_leak_since_an_attach_says_so,
		huge_pages_have_free_memory,
		history_of_the_ended_is_as_a_watch,
	};

	return unit_run("reader/verdict", tests, KF_ARRAY_SIZE(tests));
}
