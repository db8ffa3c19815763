/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/mappings.c: entries follow what is mapped, unmapped and moved; never
 * do two have the same address; the table has an end.
 */
#include "config.h"

#include "sample/countdown.h"
#include "sample/mappings.h"
#include "stats/internal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "tests/unit/unit.h"

#define MIB ((size_t)1 << 20)
#define BASE ((uint64_t)0x7f0000000000)

static const void *at(size_t mib)
{
	return (const void *)(BASE + mib * MIB);
}

static void put(size_t from, size_t size, uint32_t stack)
{
	kf_mappings_put(at(from), size * MIB, stack);
}

static uint32_t take(size_t from, size_t size)
{
	return kf_mappings_take(at(from), size * MIB);
}

static void begin(void)
{
	kf_stats_init();
	UNIT_REQUIRE(kf_stats_area_grow(KF_AREA_MAPPINGS, KF_STATS_MAPPINGS));
}

static const struct kf_stats_mapping *shown(uint32_t *nr)
{
	return kf_stats_area(KF_AREA_MAPPINGS, nr);
}

/* The stack that has a MiB in the file; fails where two have it. */
static uint32_t stack_at(size_t mib)
{
	uint64_t p = BASE + mib * MIB;
	uint32_t nr, found = 0;
	const struct kf_stats_mapping *all = shown(&nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (!all[i].begin || p < all[i].begin || p >= all[i].end)
			continue;
		ck_assert_uint_eq(found, 0);
		found = all[i].stack;
	}
	return found;
}

/* Fails unless MiB from 0 on have these stacks, a digit each. */
static void expect(const char *stacks)
{
	for (size_t i = 0; stacks[i]; i++)
		ck_assert_uint_eq(stack_at(i), (uint32_t)(stacks[i] - '0'));
}

static uint32_t nr_shown(void)
{
	uint32_t nr, used = 0;
	const struct kf_stats_mapping *all = shown(&nr);

	for (uint32_t i = 0; i < nr; i++)
		used += all[i].begin != 0;
	return used;
}

START_TEST(what_is_unmapped_is_cut)
{
	begin();
	put(1, 8, 3);
	expect("0333333330");
	ck_assert_uint_eq(take(0, 2), 3);
	expect("0033333330");
	take(8, 4);
	expect("0033333300");
	take(4, 2);
	expect("0033003300");
	ck_assert_uint_eq(nr_shown(), 2);
	take(0, 20);
	ck_assert_uint_eq(nr_shown(), 0);
	ck_assert_uint_eq(take(0, 20), 0);
}
END_TEST

START_TEST(what_is_mapped_there_replaces_it)
{
	begin();
	put(0, 6, 1);
	put(2, 2, 2);
	expect("1122110");
	put(1, 2, 0);
	expect("1002110");
	put(0, 6, 4);
	expect("4444440");
	ck_assert_uint_eq(nr_shown(), 1);
}
END_TEST

START_TEST(a_move_takes_the_stack_of_the_largest_part)
{
	begin();
	put(0, 2, 1);
	put(2, 4, 2);
	put(10, 3, 5);
	put(11, 6, take(0, 6));
	expect("0000000000522222200");
}
END_TEST

START_TEST(neighbours_of_one_stack_are_one_entry)
{
	begin();
	put(4, 2, 7);
	put(2, 2, 7);
	put(6, 1, 7);
	ck_assert_uint_eq(nr_shown(), 1);
	put(1, 1, 8);
	expect("0877777");
	ck_assert_uint_eq(nr_shown(), 2);
}
END_TEST

START_TEST(a_page_is_the_least_and_wrong_arguments_are_nothing)
{
	begin();
	kf_mappings_put(at(0), MIB - 5000, 1);
	kf_mappings_take(at(0), 1);
	ck_assert_uint_eq(stack_at(0), 0);
	ck_assert_uint_eq(nr_shown(), 1);
	ck_assert_uint_eq(kf_mappings_take((const char *)at(0) + 1, MIB), 0);
	ck_assert_uint_eq(kf_mappings_take(at(0), SIZE_MAX), 0);
	ck_assert_uint_eq(kf_mappings_take(at(0), 0), 0);
	ck_assert_uint_eq(kf_mappings_take(NULL, SIZE_MAX - 4095), 0);
	ck_assert_uint_eq(nr_shown(), 1);
	ck_assert_uint_eq(kf_mappings_take(at(0), MIB), 1);
}
END_TEST

START_TEST(the_smallest_goes_where_all_entries_are_taken)
{
	const size_t nr = KF_STATS_MAPPINGS;

	begin();
	for (size_t i = 0; i < nr; i++)
		put(10 * i, i == 5 ? 2 : 3, (uint32_t)(1 + i % 2));
	ck_assert_uint_eq(nr_shown(), nr);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mappings_missed), 0);
	put(10 * nr, 1, 9);
	ck_assert_uint_eq(stack_at(10 * nr), 0);
	ck_assert_uint_eq(stack_at(50), 2);
	put(10 * nr, 4, 9);
	ck_assert_uint_eq(stack_at(10 * nr), 9);
	ck_assert_uint_eq(stack_at(50), 0);
	/* a hole in one needs another entry, and the first part is smaller */
	take(10 * nr + 1, 1);
	ck_assert_uint_eq(stack_at(10 * nr), 0);
	ck_assert_uint_eq(stack_at(10 * nr + 2), 9);
	ck_assert_uint_eq(nr_shown(), nr);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mappings_missed), 3);
	kf_mappings_restart();
	put(0, 1, 1);
	ck_assert_uint_eq(take(0, 10 * nr), 1);
}
END_TEST

START_TEST(short_mappings_and_those_without_samples_have_no_stack)
{
	begin();
	ck_assert_uint_eq(kf_mappings_stack(16 * MIB), 0);
	kf_countdown_set(MIB);
	ck_assert_uint_eq(kf_mappings_stack(KF_MAPPINGS_LEAST - 1), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mappings_missed), 0);
	/* this program takes no stacks */
	ck_assert_uint_eq(kf_mappings_stack(KF_MAPPINGS_LEAST), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mappings_missed), 1);
}
END_TEST

#define THREADS 4
#define ROUNDS 20000

static void change(size_t from, uint32_t stack)
{
	put(from, 4, stack);
	take(from + 1, 1);
	put(from + 20, 8, take(from, 4));
	take(from + 20, 8);
}

static void *change_often(void *arg)
{
	size_t from = *(size_t *)arg;

	for (int i = 0; i < ROUNDS; i++)
		change(from, (uint32_t)(1 + from / 100));
	put(from, 4, (uint32_t)(1 + from / 100));
	return NULL;
}

START_TEST(threads_change_their_own)
{
	size_t from[THREADS];
	pthread_t thread[THREADS];

	begin();
	for (size_t i = 0; i < THREADS; i++) {
		from[i] = 100 * i;
		UNIT_REQUIRE(!pthread_create(&thread[i], NULL, change_often,
					     &from[i]));
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	/* Where one waited too long for another, all were forgotten. */
	for (size_t i = 0; i < THREADS; i++) {
		uint32_t stack = stack_at(100 * i);

		ck_assert(stack == i + 1 || !stack);
		ck_assert_uint_eq(stack_at(100 * i + 20), 0);
		ck_assert(stack || kf_word_get(KF_WORD_mappings_missed));
	}
}
END_TEST

static void change_in_handler(int sig)
{
	(void)sig;
	change(500, 6);
}

/* No call waits for itself, and none leaves a wrong entry. */
START_TEST(signal_handlers_change_them_too)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0}, {0}};

	begin();
	signal(SIGALRM, change_in_handler);
	UNIT_REQUIRE(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < 10 * ROUNDS; i++)
		change(0, 1);
	UNIT_REQUIRE(!setitimer(ITIMER_REAL, &never, NULL));
	put(900, 1, 3);
	ck_assert_uint_eq(nr_shown(), 1);
	ck_assert_uint_eq(stack_at(900), 3);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		what_is_unmapped_is_cut,
		what_is_mapped_there_replaces_it,
		a_move_takes_the_stack_of_the_largest_part,
		neighbours_of_one_stack_are_one_entry,
		a_page_is_the_least_and_wrong_arguments_are_nothing,
		the_smallest_goes_where_all_entries_are_taken,
		short_mappings_and_those_without_samples_have_no_stack,
		threads_change_their_own,
		signal_handlers_change_them_too,
	};

	return unit_run("sample/mappings", tests, KF_ARRAY_SIZE(tests));
}
