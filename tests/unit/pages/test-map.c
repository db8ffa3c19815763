/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/map.c: an address is found by its lower bits and known by all; parts of
 * the map that name nothing can be given back.
 */
#include "config.h"

#include <pthread.h>

#include "tests/unit/pages/support.h"

#define UPPER ((uintptr_t)1 << KF_MAP_BITS)
#define PAGE_ENTRIES (KF_PAGE / sizeof(uintptr_t))
#define NR_TURNS 20000

static const char *other_half(const char *p)
{
	return (const char *)((uintptr_t)p ^ UPPER);
}

START_TEST(address_with_other_upper_bits_is_foreign)
{
	bool zeroed;
	struct kf_run *slab, *large;

	floor_start();
	slab = kf_pages_alloc(2, 1, KF_RUN_SLAB, &zeroed);
	large = floor_take(2, 1);
	ck_assert_ptr_eq(kf_map_find(slab->start + 5000), slab);
	ck_assert_ptr_eq(kf_map_get(slab->start + 5000), slab);
	ck_assert_ptr_eq(kf_map_find(large->start), large);
	ck_assert_ptr_null(kf_map_find(other_half(slab->start + 5000)));
	ck_assert_ptr_null(kf_map_find(other_half(large->start)));
	ck_assert_ptr_eq(kf_map_get(other_half(slab->start)), &kf_map.foreign);
	ck_assert_ptr_eq(kf_map_get(other_half(large->start)), &kf_map.foreign);
	ck_assert_ptr_eq(kf_map_get((void *)-1), &kf_map.foreign);
	ck_assert_ptr_null(kf_map_find(NULL));
	floor_check();
}
END_TEST

START_TEST(two_runs_never_have_the_same_lower_bits)
{
	bool zeroed;
	struct kf_run *slab;

	floor_start();
	slab = kf_pages_alloc(1, 1, KF_RUN_SLAB, &zeroed);
	ck_assert(!kf_map_set(other_half(slab->start), KF_PAGE, slab));
	ck_assert_ptr_eq(kf_map_get(slab->start), slab);
	kf_map_clear(other_half(slab->start), KF_PAGE);
	ck_assert_ptr_eq(kf_map_get(slab->start), slab);
	ck_assert(kf_map_set(other_half(slab->start) - 2 * KF_GIB, KF_PAGE,
			     slab));
	kf_map_clear(other_half(slab->start) - 2 * KF_GIB, KF_PAGE);
}
END_TEST

/* Room for names, of one leaf: the floor gives no page there to anybody. */
static char *far_from(const struct kf_run *run)
{
	uintptr_t at = (uintptr_t)run->start - 64 * KF_GIB;

	return (char *)KF_ALIGN_DOWN(at, (uintptr_t)1 << KF_LEAF_SHIFT);
}

START_TEST(pages_that_name_nothing_are_given_back)
{
	struct kf_run *run;
	uint64_t least, most;
	char *at;

	floor_start();
	run = floor_take(1, 1);
	at = far_from(run);
	ck_assert(kf_map_set(at, KF_PAGE, run));
	least = kf_word_get(KF_WORD_metadata);
	for (size_t i = 1; i <= 20; i++)
		ck_assert(kf_map_set(at + i * PAGE_ENTRIES * KF_PAGE, KF_PAGE,
				     run));
	most = kf_word_get(KF_WORD_metadata);
	ck_assert_uint_eq(most, least + 20 * KF_PAGE);
	for (size_t i = 1; i <= 20; i++)
		kf_map_clear(at + i * PAGE_ENTRIES * KF_PAGE, KF_PAGE);
	ck_assert_uint_eq(kf_word_get(KF_WORD_metadata), most);
	kf_pages_trim(0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_metadata), least);
	/* The one that names something has stayed. */
	ck_assert_ptr_eq(kf_map_peek(at), run);
	kf_map_clear(at, KF_PAGE);
	floor_check();
}
END_TEST

struct names {
	struct kf_run *run;
	char *at;
};

static void *name_and_unname(void *arg)
{
	const struct names *names = arg;

	for (int i = 0; i < NR_TURNS; i++) {
		UNIT_REQUIRE(kf_map_set(names->at, 3 * KF_PAGE, names->run));
		UNIT_REQUIRE(kf_map_peek(names->at) == names->run);
		UNIT_REQUIRE(kf_map_peek(names->at + 2 * KF_PAGE) ==
			     names->run);
		kf_map_clear(names->at, 3 * KF_PAGE);
	}
	return NULL;
}

START_TEST(names_are_not_lost_while_the_map_is_trimmed)
{
	struct kf_run *run;
	struct names names[2];
	pthread_t thread[2];
	uint64_t before;

	floor_start();
	run = floor_take(1, 1);
	kf_map_clear(far_from(run), KF_PAGE);
	for (size_t i = 0; i < 2; i++) {
		/* Of one page of the map, and over its end. */
		names[i] = (struct names){run, far_from(run) +
						       (510 + i * 8) * KF_PAGE};
		UNIT_REQUIRE(!pthread_create(&thread[i], NULL, name_and_unname,
					     &names[i]));
	}
	for (int i = 0; i < NR_TURNS / 4; i++)
		kf_pages_trim(0);
	for (size_t i = 0; i < 2; i++)
		UNIT_REQUIRE(!pthread_join(thread[i], NULL));
	kf_pages_trim(0);
	before = kf_word_get(KF_WORD_metadata);
	kf_pages_trim(0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_metadata), before);
	floor_check();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		address_with_other_upper_bits_is_foreign,
		two_runs_never_have_the_same_lower_bits,
		pages_that_name_nothing_are_given_back,
		names_are_not_lost_while_the_map_is_trimmed,
	};

	return unit_run("pages/map", tests, KF_ARRAY_SIZE(tests));
}
