/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * engines/marks.c: marks by address alone.
 */
#include "config.h"

#include <pthread.h>

#include "engines/marks.h"
#include "engines/host.h"
#include "stats/stats.h"
#include "tests/unit/unit.h"

static void start(void)
{
	kf_stats_init();
	kf_host_init();
}

static const void *at(uintptr_t address)
{
	return (const void *)address;
}

START_TEST(mark_is_kept_until_it_is_taken)
{
	static const uintptr_t places[] = {
		16,
		0x10000,
		0x13ff0,
		0x14000,
		0x7f0000000000,
		0x7f0000000010,
		0x7f0000003ff0,
		(1ULL << 47) - 16,
		0x550000000000,
	};
	uint32_t nr = KF_ARRAY_SIZE(places);

	start();
	for (uint32_t i = 0; i < nr; i++)
		ck_assert_uint_eq(kf_marks_take(at(places[i])), 0);
	for (uint32_t i = 0; i < nr; i++)
		ck_assert(kf_marks_put(at(places[i]), i + 1));
	for (uint32_t i = 0; i < nr; i++) {
		ck_assert_uint_eq(kf_marks_take(at(places[i])), i + 1);
		ck_assert_uint_eq(kf_marks_take(at(places[i])), 0);
	}
}
END_TEST

START_TEST(neighbours_have_their_own)
{
	start();
	for (uint32_t i = 1; i < 100000; i++)
		ck_assert(kf_marks_put(at(16 * (uintptr_t)i), i));
	for (uint32_t i = 1; i < 100000; i += 2)
		ck_assert_uint_eq(kf_marks_take(at(16 * (uintptr_t)i)), i);
	for (uint32_t i = 1; i < 100000; i++)
		ck_assert_uint_eq(kf_marks_take(at(16 * (uintptr_t)i)),
				  i % 2 ? 0 : i);
}
END_TEST

/* Blocks of 8 bytes may lie so, and share their 16 bytes with a neighbour. */
START_TEST(address_between_has_none)
{
	start();
	ck_assert(kf_marks_put(at(0x1000), 7));
	ck_assert_uint_eq(kf_marks_take(at(0x1008)), 0);
	ck_assert(!kf_marks_put(at(0x1008), 8));
	ck_assert_uint_eq(kf_marks_take(at(0x1000)), 7);
}
END_TEST

START_TEST(address_beyond_all_has_none)
{
	start();
	ck_assert(!kf_marks_put(at(1ULL << KF_ADDRESS_BITS), 1));
	ck_assert_uint_eq(kf_marks_take(at(1ULL << KF_ADDRESS_BITS)), 0);
	ck_assert(!kf_marks_put(at(UINTPTR_MAX - 15), 1));
	ck_assert_uint_eq(kf_marks_take(at(UINTPTR_MAX - 15)), 0);
}
END_TEST

#define NR_THREADS 4
#define NR_MARKS 20000

/* Of every fourth address, so that all threads want all tables at once. */
static void *put_and_take(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;

	for (uint32_t i = 0; i < NR_MARKS; i++)
		ck_assert(kf_marks_put(
			at(((uintptr_t)i * NR_THREADS + me + 1) << 12),
			i + me + 1));
	for (uint32_t i = 0; i < NR_MARKS; i++)
		ck_assert_uint_eq(
			kf_marks_take(
				at(((uintptr_t)i * NR_THREADS + me + 1) << 12)),
			i + me + 1);
	return NULL;
}

START_TEST(threads_lose_no_marks)
{
	pthread_t thread[NR_THREADS];

	start();
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, put_and_take,
						(void *)i),
				 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		mark_is_kept_until_it_is_taken, neighbours_have_their_own,
		address_between_has_none,	address_beyond_all_has_none,
		threads_lose_no_marks,
	};

	return unit_run("core/marks", tests, KF_ARRAY_SIZE(tests));
}
