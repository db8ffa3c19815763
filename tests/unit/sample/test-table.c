/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/table.c: a stack has one entry, entries are bounded, and what was
 * damaged in the file harms nobody.
 */
#include "config.h"

#include "sample/internal.h"
#include "stats/stats.h"

#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>

#define MAX 300
#define THREADS 4
#define ROUNDS 40

static struct kf_walked stack_of(uint64_t nr)
{
	struct kf_walked stack = {.nr = 3, .frame = {nr + 1, 1000, 2000}};

	return stack;
}

static uint32_t find(uint64_t nr, uint32_t tag)
{
	struct kf_walked stack = stack_of(nr);

	return kf_table_find(&stack, tag, MAX);
}

static struct kf_stats_stack *entry(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_stack *all = kf_stats_area(KF_AREA_STACKS, &nr);

	UNIT_REQUIRE(i < nr);
	return &all[i];
}

/* Entries that readers see, but that for all. */
static uint32_t nr_shown(void)
{
	uint32_t nr, shown = 0;
	struct kf_stats_stack *all = kf_stats_area(KF_AREA_STACKS, &nr);

	for (uint32_t i = 1; i < nr; i++)
		shown += all[i].hash != 0;
	return shown;
}

START_TEST(a_stack_has_one_entry_and_says_what_it_is)
{
	uint32_t i;

	kf_stats_init();
	i = find(5, 7);
	ck_assert_uint_ne(i, 0);
	ck_assert_uint_eq(find(5, 7), i);
	ck_assert_uint_eq(nr_shown(), 1);
	ck_assert_uint_eq(entry(i)->tag, 7);
	ck_assert_uint_eq(entry(i)->nr_frames, 3);
	ck_assert_uint_eq(entry(i)->frame[0], 6);
	ck_assert_uint_eq(entry(i)->frame[2], 2000);
	ck_assert_int_ne(entry(i)->tid, 0);
	ck_assert_uint_eq(entry(0)->flags, KF_STACK_OVERFLOW);
	ck_assert_uint_eq(entry(0)->nr_frames, 0);
}
END_TEST

START_TEST(whatever_differs_has_an_entry_of_its_own)
{
	struct kf_walked base = stack_of(1), s;
	uint32_t was[6], nr = 0;

	kf_stats_init();
	was[nr++] = kf_table_find(&base, 0, MAX);
	was[nr++] = kf_table_find(&base, 1, MAX);
	s = base;
	s.frame[2]++;
	was[nr++] = kf_table_find(&s, 0, MAX);
	s = base;
	s.nr = 2;
	was[nr++] = kf_table_find(&s, 0, MAX);
	s = base;
	s.flags = KF_STACK_CUT;
	was[nr++] = kf_table_find(&s, 0, MAX);
	s = (struct kf_walked){0};
	was[nr++] = kf_table_find(&s, 0, MAX);
	for (uint32_t i = 0; i < nr; i++) {
		ck_assert_uint_ne(was[i], 0);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_uint_ne(was[i], was[k]);
	}
	ck_assert_uint_eq(nr_shown(), nr);
}
END_TEST

START_TEST(what_finds_no_room_goes_to_the_entry_for_all)
{
	uint32_t last = 0;

	kf_stats_init();
	for (uint32_t i = 0; i < MAX; i++) {
		last = find(i, 0);
		UNIT_REQUIRE(last != 0);
	}
	for (uint32_t i = MAX; i < 10 * MAX; i++)
		UNIT_REQUIRE(find(i, 0) == 0);
	ck_assert_uint_eq(find(MAX - 1, 0), last);
	ck_assert_uint_eq(nr_shown(), MAX);
	kf_table_add(0, 64, 4096);
	ck_assert_uint_eq(entry(0)->samples, 1);
	ck_assert_uint_eq(entry(0)->allocated, 4096);
}
END_TEST

START_TEST(a_table_of_one_entry_is_one)
{
	struct kf_walked a = stack_of(1), b = stack_of(2);
	uint32_t i;

	kf_stats_init();
	i = kf_table_find(&a, 0, 1);
	ck_assert_uint_ne(i, 0);
	ck_assert_uint_eq(kf_table_find(&b, 0, 1), 0);
	ck_assert_uint_eq(kf_table_find(&a, 0, 1), i);
}
END_TEST

static pthread_barrier_t gate;
static uint32_t seen[THREADS][MAX];

/* All threads look for the same stacks in the same order. */
static void *look(void *arg)
{
	uint32_t *mine = arg;

	for (uint32_t i = 0; i < MAX; i++) {
		if (i % (MAX / ROUNDS) == 0)
			pthread_barrier_wait(&gate);
		mine[i] = find(i, 0);
	}
	return NULL;
}

START_TEST(threads_that_meet_the_same_stack_agree_on_its_entry)
{
	pthread_t thread[THREADS];
	uint32_t lost = 0;

	kf_stats_init();
	pthread_barrier_init(&gate, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, look, seen[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < MAX; i++) {
		lost += seen[0][i] == 0;
		for (int k = 1; k < THREADS; k++) {
			UNIT_REQUIRE(!seen[0][i] || !seen[k][i] ||
				     seen[k][i] == seen[0][i]);
		}
	}
	/* A loser's entry may be lost where others lose at that time, too. */
	ck_assert_uint_le(nr_shown(), MAX);
	ck_assert_uint_ge(nr_shown() + lost, MAX);
	ck_assert_uint_lt(lost, MAX / 10);
}
END_TEST

/* A stack of @nr frames; only the first is its own, and @outermost the last. */
static struct kf_walked *deep(uint32_t nr, uint64_t first, uint64_t outermost)
{
	static struct kf_walked stack;

	memset(&stack, 0, sizeof(stack));
	stack.nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		stack.frame[i] = 1000 + i;
	stack.frame[0] = first;
	stack.frame[nr - 1] = outermost;
	return &stack;
}

static struct kf_stats_frame *frames(uint32_t *taken)
{
	uint32_t nr;
	struct kf_stats_frame *all = kf_stats_area(KF_AREA_FRAMES, &nr);

	for (*taken = 0; *taken + 1 < nr && all[*taken + 1].address;)
		++*taken;
	return all;
}

static void has_outer(uint32_t i, const struct kf_walked *stack)
{
	const struct kf_stats_stack *e = entry(i);
	uint32_t taken, at = e->flags >> KF_STACK_OUTER_SHIFT;
	const struct kf_stats_frame *all = frames(&taken);

	UNIT_REQUIRE(e->nr_frames == KF_STATS_STACK_FRAMES);
	for (uint32_t k = KF_STATS_STACK_FRAMES; k < stack->nr; k++) {
		UNIT_REQUIRE(at && at <= taken && all[at].parent < at);
		UNIT_REQUIRE(all[at].address == stack->frame[k]);
		at = all[at].parent;
	}
	UNIT_REQUIRE(at == 0);
}

START_TEST(deep_stacks_share_their_outer_frames)
{
	const uint32_t outer = 300 - KF_STATS_STACK_FRAMES;
	uint32_t was[4], taken;

	kf_stats_init();
	was[0] = kf_table_find(deep(300, 1, 2), 0, MAX);
	has_outer(was[0], deep(300, 1, 2));
	was[1] = kf_table_find(deep(300, 2, 2), 0, MAX);
	has_outer(was[1], deep(300, 2, 2));
	frames(&taken);
	ck_assert_uint_eq(taken, outer);
	/* The outermost frame is the root: all others follow another one. */
	was[2] = kf_table_find(deep(300, 1, 3), 0, MAX);
	has_outer(was[2], deep(300, 1, 3));
	frames(&taken);
	ck_assert_uint_eq(taken, 2 * outer);
	was[3] = kf_table_find(deep(299, 1, 2), 0, MAX);
	has_outer(was[3], deep(299, 1, 2));
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_ne(was[i], 0);
		for (int k = 0; k < i; k++)
			ck_assert_uint_ne(was[i], was[k]);
	}
	ck_assert_uint_eq(kf_table_find(deep(300, 1, 2), 0, MAX), was[0]);
	ck_assert_uint_eq(entry(was[0])->flags & 0xff, KF_STACK_CUT);
}
END_TEST

START_TEST(the_entry_has_as_many_frames_as_fit)
{
	struct kf_walked *stack = deep(KF_STATS_STACK_FRAMES, 1, 2);
	uint32_t i, taken;

	kf_stats_init();
	i = kf_table_find(stack, 0, MAX);
	ck_assert_uint_eq(entry(i)->nr_frames, KF_STATS_STACK_FRAMES);
	ck_assert_uint_eq(entry(i)->flags, 0);
	i = kf_table_find(deep(KF_STATS_STACK_FRAMES + 1, 1, 2), 0, MAX);
	has_outer(i, deep(KF_STATS_STACK_FRAMES + 1, 1, 2));
	stack = deep(KF_STATS_STACK_MAX, 1, 2);
	stack->flags = KF_STACK_CUT | KF_STACK_NO_TABLES | KF_STACK_NO_CALLS;
	i = kf_table_find(stack, 0, MAX);
	has_outer(i, stack);
	ck_assert_uint_eq(entry(i)->flags & 0xff,
			  KF_STACK_CUT | KF_STACK_OUTER_CUT |
				  KF_STACK_NO_TABLES | KF_STACK_NO_CALLS);
	frames(&taken);
	/* Both stacks have the same outermost frame. */
	ck_assert_uint_eq(taken, KF_STATS_STACK_MAX - KF_STATS_STACK_FRAMES);
}
END_TEST

START_TEST(without_room_for_frames_a_stack_is_cut)
{
	uint32_t i = 0, taken;

	kf_stats_init();
	/* Four stacks may have 128 outer frames. */
	for (uint32_t k = 0; k < 4; k++) {
		i = kf_table_find(deep(100, 1, k + 1), 0, 4);
		ck_assert_uint_ne(i, 0);
	}
	ck_assert_uint_eq(entry(i)->flags, KF_STACK_CUT | KF_STACK_NO_OUTER);
	ck_assert_uint_eq(entry(i)->nr_frames, KF_STATS_STACK_FRAMES);
	frames(&taken);
	ck_assert_uint_eq(taken, 128);
}
END_TEST

/* All threads look for the same frames in the same order. */
static void *look_deep(void *arg)
{
	uint32_t *mine = arg;
	uint64_t frame[40];

	for (uint32_t i = 0; i < MAX; i++) {
		for (uint32_t k = 0; k < 40; k++)
			frame[k] = 1000 * (i / 3) + 1 + k;
		frame[0] = i + 1;
		if (i % (MAX / ROUNDS) == 0)
			pthread_barrier_wait(&gate);
		mine[i] = kf_frames_intern(frame, 40, 100 * MAX);
	}
	return NULL;
}

START_TEST(threads_that_meet_the_same_frames_agree_on_them)
{
	pthread_t thread[THREADS];

	kf_stats_init();
	pthread_barrier_init(&gate, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, look_deep, seen[i]),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < MAX; i++) {
		UNIT_REQUIRE(seen[0][i] != 0);
		for (int k = 1; k < THREADS; k++)
			UNIT_REQUIRE(seen[k][i] == seen[0][i]);
	}
}
END_TEST

START_TEST(amounts_and_their_peak_are_added_up)
{
	struct kf_stats_stack *e;
	uint32_t i;

	kf_stats_init();
	i = find(1, 0);
	e = entry(i);
	kf_table_add(i, 1000, 3000);
	kf_table_add(i, 2000, 3000);
	kf_table_sub(i, 1000, 3000);
	kf_table_add(i, 1000, 2000);
	ck_assert_uint_eq(e->samples, 3);
	ck_assert_uint_eq(e->freed_samples, 1);
	ck_assert_uint_eq(e->allocated, 8000);
	ck_assert_uint_eq(e->freed, 3000);
	ck_assert_uint_eq(e->peak, 6000);
	ck_assert_uint_eq(e->allocated_blocks, 256 * 13 / 2);
	ck_assert_uint_eq(e->freed_blocks, 256 * 3);
	ck_assert_uint_eq(e->peak_blocks, 256 * 9 / 2);
	kf_table_add(KF_TABLE_NONE, 1, 1);
	kf_table_sub(KF_TABLE_NONE, 1, 1);
	ck_assert_uint_eq(e->samples, 3);
}
END_TEST

START_TEST(blocks_and_variance_are_rounded_not_cut_off)
{
	ck_assert_uint_eq(kf_sample_blocks(3, 1), 85);
	ck_assert_uint_eq(kf_sample_blocks(3, 2), 171);
	ck_assert_uint_eq(kf_sample_blocks(4096, 4096), 256);
	ck_assert_uint_eq(kf_sample_variance(4096, 4096), 0);
	ck_assert_uint_eq(kf_sample_variance(0, 1024), 1);
	ck_assert_uint_eq(kf_sample_variance(0, 725), 1);
	ck_assert_uint_eq(kf_sample_variance(0, 724), 0);
	/* Of the largest mean it is still whole. */
	ck_assert_uint_eq(kf_sample_variance(0, UINT64_C(1) << 40),
			  UINT64_C(1) << 60);
}
END_TEST

START_TEST(entries_damaged_in_the_file_are_not_met_again)
{
	uint32_t was, other, now;

	kf_stats_init();
	was = find(1, 0);
	other = find(2, 0);
	memset(entry(was), 0xff, sizeof(struct kf_stats_stack));
	now = find(1, 0);
	ck_assert_uint_ne(now, was);
	ck_assert_uint_ne(now, 0);
	ck_assert_uint_eq(find(2, 0), other);
	/* However often: all are taken in the end, and nothing hangs. */
	for (int i = 0; i < 2 * MAX; i++) {
		now = find(1, 0);
		memset(entry(now), 0, sizeof(struct kf_stats_stack));
	}
	ck_assert_uint_eq(now, 0);
}
END_TEST

START_TEST(without_memory_there_is_no_entry)
{
	uint32_t i;

	kf_stats_init();
	unit_limit_address_space(0);
	i = find(1, 0);
	unit_limit_address_space(SIZE_MAX);
	ck_assert_uint_eq(i, KF_TABLE_NONE);
	i = find(1, 0);
	ck_assert_uint_ne(i, KF_TABLE_NONE);
	ck_assert_uint_ne(i, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_stack_has_one_entry_and_says_what_it_is,
		whatever_differs_has_an_entry_of_its_own,
		what_finds_no_room_goes_to_the_entry_for_all,
		a_table_of_one_entry_is_one,
		threads_that_meet_the_same_stack_agree_on_its_entry,
		deep_stacks_share_their_outer_frames,
		the_entry_has_as_many_frames_as_fit,
		without_room_for_frames_a_stack_is_cut,
		threads_that_meet_the_same_frames_agree_on_them,
		amounts_and_their_peak_are_added_up,
		blocks_and_variance_are_rounded_not_cut_off,
		entries_damaged_in_the_file_are_not_met_again,
		without_memory_there_is_no_entry,
	};

	return unit_run("sample/table", tests, KF_ARRAY_SIZE(tests));
}
