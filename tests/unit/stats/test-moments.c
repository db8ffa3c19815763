/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/moments.c: the history has the whole life, densest at its end.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define CHILD_OK 23
#define SECOND ((uint64_t)1000000000)
#define TICK (SECOND / 20)
#define BEGIN (1000 * SECOND)

static struct kf_slot *slot;

static const struct kf_stats_moment *all(void)
{
	return (const void *)(kf_stats.base + KF_AT_MOMENTS);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct kf_stats_moment *)a)->time;
	uint64_t y = ((const struct kf_stats_moment *)b)->time;

	return (x > y) - (x < y);
}

/* The moments of the file, by time; returns how many. */
static unsigned int in_file(struct kf_stats_moment m[KF_STATS_MOMENTS])
{
	size_t size;
	char *bytes = support_read(kf_stats_path(), &size);
	const struct kf_stats_header *h = (const void *)bytes;
	unsigned int nr = 0;

	UNIT_REQUIRE(h->minor >= 9 && h->moments.nr == KF_STATS_MOMENTS &&
		     h->moments.entry_size == sizeof(*m));
	for (unsigned int i = 0; i < KF_STATS_MOMENTS; i++) {
		memcpy(&m[nr], bytes + h->moments.offset + i * sizeof(*m),
		       sizeof(*m));
		nr += m[nr].time != 0;
	}
	free(bytes);
	qsort(m, nr, sizeof(*m), by_time);
	return nr;
}

static void start(void)
{
	support_publish();
	kf_moments_restart();
	slot = kf_stats_slot_take();
	slot->state = KF_SLOT_IN_USE;
	kf_word_set(KF_WORD_mapped, 1 << 20);
}

/* Ticks as those of a program that allocates all the time. */
static void live_until(uint64_t from, uint64_t to, uint64_t step)
{
	for (uint64_t now = from; now <= to; now += step) {
		slot->class[5].mallocs++;
		kf_moments_note(BEGIN + now);
	}
}

START_TEST(moment_has_what_the_counters_have)
{
	struct kf_stats_moment m[KF_STATS_MOMENTS];

	start();
	slot->class[5].mallocs = 100;
	slot->class[5].frees = 60;
	slot->scalar[KF_SLOT_large_allocated] = 70000;
	slot->scalar[KF_SLOT_large_freed] = 20000;
	kf_word_set(KF_WORD_purged, 1 << 10);
	kf_moments_note(BEGIN);
	ck_assert_uint_eq(in_file(m), 1);
	ck_assert_uint_eq(m[0].time, BEGIN);
	ck_assert_uint_eq(m[0].live, 40 * 80 + 50000);
	ck_assert_uint_eq(m[0].allocated, 100 * 80 + 70000);
	ck_assert_uint_eq(m[0].blocks, 40);
	ck_assert_uint_eq(m[0].held, (1 << 20) - (1 << 10));
}
END_TEST

START_TEST(first_moment_is_the_begin_of_the_file)
{
	struct kf_stats_moment m[KF_STATS_MOMENTS];

	support_publish();
	ck_assert_uint_eq(in_file(m), 1);
	ck_assert_uint_eq(m[0].time, kf_stats_self()->created_mono);
}
END_TEST

START_TEST(life_of_a_tenth_of_a_second_has_what_it_has)
{
	struct kf_stats_moment m[KF_STATS_MOMENTS];

	start();
	live_until(0, SECOND / 10, TICK);
	ck_assert_uint_eq(in_file(m), 3);
}
END_TEST

START_TEST(process_without_a_file_has_none)
{
	support_begin();
	for (unsigned int i = 0; i < 100; i++)
		kf_moments_note(BEGIN + i * SECOND);
	for (unsigned int i = 0; i < KF_STATS_MOMENTS; i++)
		UNIT_REQUIRE(!all()[i].time);
}
END_TEST

/* The gap before an age is a part of it, or the least there is. */
static void check_gaps(const struct kf_stats_moment *m, unsigned int nr,
		       uint64_t end)
{
	for (unsigned int i = 1; i < nr; i++) {
		uint64_t gap = m[i].time - m[i - 1].time;
		uint64_t age = end - m[i - 1].time;

		UNIT_REQUIRE(gap <= 2 * SECOND || gap <= age / 3);
	}
}

START_TEST(history_is_of_the_whole_life_and_densest_at_its_end)
{
	static const uint64_t lives[] = {10, 100, 1000, 86400, 30 * 86400};
	struct kf_stats_moment m[KF_STATS_MOMENTS];
	uint64_t from = 0;

	start();
	for (size_t i = 0; i < KF_ARRAY_SIZE(lives); i++) {
		uint64_t to = lives[i] * SECOND;
		unsigned int nr, late = 0;

		live_until(from, to, lives[i] > 1000 ? SECOND / 2 : TICK);
		from = to + TICK;
		nr = in_file(m);
		ck_assert_uint_eq(m[0].time, BEGIN);
		UNIT_REQUIRE(m[nr - 1].time + 2 * SECOND >= BEGIN + to);
		check_gaps(m, nr, BEGIN + to);
		for (unsigned int k = 0; k < nr; k++)
			late += m[k].time + 300 * SECOND >= BEGIN + to;
		/* the last five minutes */
		if (lives[i] >= 1000)
			UNIT_REQUIRE(nr == KF_STATS_MOMENTS && late >= 16);
	}
	for (unsigned int i = 1; i < KF_STATS_MOMENTS; i++)
		UNIT_REQUIRE(m[i].live > m[i - 1].live);
}
END_TEST

START_TEST(what_others_write_into_the_file_decides_nothing)
{
	struct kf_stats_moment m[KF_STATS_MOMENTS];

	start();
	live_until(0, 1000 * SECOND, SECOND);
	memset(kf_stats.base + KF_AT_MOMENTS, 0xff,
	       KF_STATS_MOMENTS * sizeof(*m));
	live_until(1002 * SECOND, 1006 * SECOND, 2 * SECOND);
	ck_assert_uint_eq(in_file(m), KF_STATS_MOMENTS);
	ck_assert_uint_eq(m[0].time, BEGIN + 1002 * SECOND);
	ck_assert_uint_eq(m[2].time, BEGIN + 1006 * SECOND);
	ck_assert_uint_eq(m[3].time, UINT64_MAX);
}
END_TEST

START_TEST(child_begins_its_own)
{
	struct kf_stats_conf conf = support_conf();
	struct kf_stats_moment m[KF_STATS_MOMENTS];
	pid_t pid;

	start();
	live_until(0, 100 * SECOND, SECOND);
	kf_stats_prepare_fork();
	pid = fork();
	if (!pid) {
		kf_stats_fork_child();
		kf_moments_note(BEGIN + 101 * SECOND);
		kf_stats_publish(&conf, true);
		if (in_file(m) != 1 ||
		    m[0].time != kf_stats_self()->created_mono)
			_exit(1);
		if (!m[0].live || m[0].allocated)
			_exit(2);
		_exit(CHILD_OK);
	}
	kf_stats_parent_fork();
	ck_assert_int_eq(WEXITSTATUS(support_join(pid)), CHILD_OK);
	UNIT_REQUIRE(in_file(m) > 30 && m[0].time == BEGIN);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		moment_has_what_the_counters_have,
		first_moment_is_the_begin_of_the_file,
		life_of_a_tenth_of_a_second_has_what_it_has,
		process_without_a_file_has_none,
		history_is_of_the_whole_life_and_densest_at_its_end,
		what_others_write_into_the_file_decides_nothing,
		child_begins_its_own,
	};

	return unit_run("stats/moments", tests, KF_ARRAY_SIZE(tests));
}
