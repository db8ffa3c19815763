/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/heap.c and fast.h: small classes that share the slabs of another, for
 * how long, and what is said of their blocks.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "heap/large.h"
#include "heap/fast.h"
#include "heap/backend.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define OFTEN ((size_t)64)
#define SELDOM ((size_t)272)
#define SERVES ((size_t)320) /* the last of its group */
#define NR_OFTEN 100	     /* requests, to one that is seldom */

static const struct kf_backend *supply = &kf_backend_firstfit;

/* With the short ways open. */
static struct kf_heap *start(void)
{
	struct kf_heap *heap;

	kf_stats_init();
	kf_pages_conf.tick_ms = UINT32_MAX;
	supply->init();
	heap = kf_heap_get();
	kf_process_know();
	kf_countdown_set(0);
	kf_process_see();
	return heap;
}

/* As malloc does it; zeroed as calloc does it. Bytes that it has in @usable. */
static void *take(struct kf_heap *heap, size_t size, size_t *usable,
		  bool zeroed)
{
	bool clean;
	void *p = kf_fast_pop(heap, size, true, usable, &clean);

	if (!p)
		return supply->alloc(size, 16, zeroed, usable);
	/* All but the link and the key, which malloc has wiped off. */
	if (zeroed && clean)
		*(void **)p = NULL;
	else if (zeroed)
		memset(p, 0, size);
	return p;
}

static void drop(void *p)
{
	UNIT_REQUIRE(supply->release(p, 0) == KF_FINE);
}

static void use_others(struct kf_heap *heap)
{
	size_t usable;

	for (int i = 0; i < NR_OFTEN; i++)
		drop(take(heap, OFTEN, &usable, false));
}

static size_t seldom(struct kf_heap *heap, void **block)
{
	size_t usable;

	use_others(heap);
	*block = take(heap, SELDOM, &usable, false);
	UNIT_REQUIRE(*block);
	ck_assert_uint_eq(usable, kf_slab_at(*block)->size);
	ck_assert_uint_eq(usable, kf_fast_usable(*block));
	memset(*block, 0x5a, usable);
	return usable;
}

static const struct kf_stats_pair *pair(const struct kf_heap *heap, size_t size)
{
	return &heap->front.slot->class[kf_class_of(size)];
}

START_TEST(class_with_few_blocks_shares_for_good)
{
	struct kf_heap *heap = start();
	void *block;

	for (int i = 0; i < 1000; i++) {
		ck_assert_uint_eq(seldom(heap, &block), SERVES);
		drop(block);
	}
	ck_assert_uint_eq(heap->nr_slabs[kf_class_of(SELDOM)], 0);
	/* Where its blocks are is where they are counted. */
	ck_assert_uint_eq(pair(heap, SELDOM)->mallocs, 0);
	ck_assert_uint_eq(pair(heap, SERVES)->mallocs, 1000);
	ck_assert_uint_eq(pair(heap, SERVES)->frees, 1000);
}
END_TEST

START_TEST(most_of_its_requests_take_the_short_way)
{
	struct kf_heap *heap = start();
	int nr = 0;

	for (int i = 0; i < 1000; i++) {
		size_t usable;
		bool zeroed;
		void *p;

		use_others(heap);
		p = kf_fast_pop(heap, SELDOM, true, &usable, &zeroed);
		nr += !!p;
		drop(p ? p : supply->alloc(SELDOM, 16, false, &usable));
	}
	/* But where it is looked at, and where the long way has its turn. */
	ck_assert_int_ge(nr, 900);
	ck_assert_int_lt(nr, 1000);
}
END_TEST

START_TEST(class_that_is_asked_for_often_gets_its_own)
{
	struct kf_heap *heap = start();
	size_t usable = 0;
	int i;

	for (i = 0; i < 1000 && usable != SELDOM; i++)
		drop(take(heap, SELDOM, &usable, false));
	ck_assert_int_gt(i, 1);
	ck_assert_int_lt(i, 200);
	ck_assert_uint_eq(heap->nr_slabs[kf_class_of(SELDOM)], 1);
	/* And keeps it, however seldom it is asked for from now on. */
	for (i = 0; i < 200; i++) {
		void *block;

		ck_assert_uint_eq(seldom(heap, &block), SELDOM);
		drop(block);
	}
}
END_TEST

/* Of those that share for long the looks are rare, and look at as much more. */
START_TEST(class_that_is_asked_for_often_later_gets_its_own)
{
	struct kf_heap *heap = start();
	struct kf_sharer *sharer = &heap->sharer[kf_class_of(SELDOM)];
	size_t usable = 0;
	void *block;
	int i;

	ck_assert_uint_eq(seldom(heap, &block), SERVES);
	drop(block);
	ck_assert_uint_eq(sharer->uses, 64);
	for (i = 0; i < 600; i++) {
		ck_assert_uint_eq(seldom(heap, &block), SERVES);
		drop(block);
	}
	ck_assert_uint_eq(sharer->uses, 240);
	for (i = 0; i < 1000 && usable != SELDOM; i++)
		drop(take(heap, SELDOM, &usable, false));
	ck_assert_int_lt(i, 2 * 240);
}
END_TEST

START_TEST(class_with_many_blocks_gets_its_own)
{
	struct kf_heap *heap = start();
	static void *blocks[1000];
	int nr_own = 0;

	for (int i = 0; i < 1000; i++)
		nr_own += seldom(heap, &blocks[i]) == SELDOM;
	ck_assert_int_ge(nr_own, 800);
	ck_assert_int_lt(nr_own, 1000);
	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(((char *)blocks[i])[SELDOM - 1], 0x5a);
		drop(blocks[i]);
	}
	ck_assert_uint_eq(pair(heap, SELDOM)->mallocs, nr_own);
	ck_assert_uint_eq(pair(heap, SELDOM)->frees, nr_own);
}
END_TEST

START_TEST(blocks_of_another_class_are_zeroed)
{
	struct kf_heap *heap = start();
	size_t usable;
	void *block;

	for (int i = 0; i < 500; i++) {
		const unsigned char *at;

		seldom(heap, &block);
		drop(block);
		use_others(heap);
		at = take(heap, SELDOM, &usable, true);
		for (size_t j = 0; j < SELDOM; j++)
			ck_assert_uint_eq(at[j], 0);
		drop((void *)at);
	}
}
END_TEST

START_TEST(aligned_block_is_not_of_another_class)
{
	struct kf_heap *heap = start();
	void *block;

	for (int i = 0; i < 200; i++) {
		size_t usable;
		bool zeroed;
		void *p;

		seldom(heap, &block);
		p = kf_fast_pop(heap, 288, false, &usable, &zeroed);
		if (!p)
			p = supply->alloc(288, 32, false, &usable);
		ck_assert_uint_eq((uintptr_t)p % 32, 0);
		ck_assert_uint_eq(kf_slab_at(p)->size, 288);
		drop(p);
		drop(block);
	}
}
END_TEST

/* Or nobody would be sampled until one asks for the other class itself. */
START_TEST(sample_of_the_other_class_is_taken_over)
{
	struct kf_heap *heap = start();
	unsigned int class = kf_class_of(SELDOM), other = kf_class_of(SERVES);
	size_t usable;
	int nr = 0;

	do
		UNIT_REQUIRE(supply->alloc(SELDOM, 16, false, &usable));
	while (kf_bin_first(&heap->front.bin[other]) && ++nr < 100);
	ck_assert_int_lt(nr, 100);
	heap->due[other] = kf_sample_epoch;
	ck_assert_ptr_null(take(heap, SELDOM, &usable, false));
	ck_assert_uint_eq(heap->due[class], kf_sample_epoch);
	ck_assert_uint_ne(heap->due[other], kf_sample_epoch);
	/* Until it is taken there is none. */
	ck_assert_ptr_null(take(heap, SELDOM, &usable, false));
	heap->due[class] = 0;
	ck_assert_ptr_nonnull(take(heap, SELDOM, &usable, false));
	ck_assert_uint_eq(usable, SERVES);
}
END_TEST

static void *use_often(void *unused)
{
	struct kf_heap *heap = kf_heap_get();
	size_t usable = 0;

	for (int i = 0; i < 200; i++)
		drop(take(heap, SELDOM, &usable, false));
	UNIT_REQUIRE(usable == SELDOM);
	UNIT_REQUIRE(heap->sharer[kf_class_of(SELDOM)].parted);
	return heap;
}

static void *look_anew(void *before)
{
	struct kf_heap *heap = kf_heap_get();
	size_t usable;

	UNIT_REQUIRE(heap == before);
	UNIT_REQUIRE(!heap->sharer[kf_class_of(SELDOM)].parted);
	/* What the last one left is taken first. */
	drop(take(heap, SELDOM, &usable, false));
	UNIT_REQUIRE(usable == SELDOM);
	return NULL;
}

static void *in_a_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	return result;
}

START_TEST(next_thread_of_a_heap_begins_anew)
{
	kf_thread_exit_init(supply->thread_exit);
	start();
	in_a_thread(look_anew, in_a_thread(use_often, NULL));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		class_with_few_blocks_shares_for_good,
		most_of_its_requests_take_the_short_way,
		class_that_is_asked_for_often_gets_its_own,
		class_that_is_asked_for_often_later_gets_its_own,
		class_with_many_blocks_gets_its_own,
		blocks_of_another_class_are_zeroed,
		aligned_block_is_not_of_another_class,
		sample_of_the_other_class_is_taken_over,
		next_thread_of_a_heap_begins_anew,
	};

	return unit_run("heap/share", tests, KF_ARRAY_SIZE(tests));
}
