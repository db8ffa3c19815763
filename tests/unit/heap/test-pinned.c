/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/pinned.c: each block's share of the free blocks beside it, against a
 * count of the test's own live blocks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engines/host.h"
#include "heap/heap.h"
#include "heap/marked.h"
#include "heap/pinned.h"
#include "pages/pages.h"
#include "stats/layout.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define NR_BLOCKS 6000
#define NR_MARKS 5

static void *blocks[NR_BLOCKS];
static uint64_t told[NR_MARKS];
static uint64_t nr_told;

static void gone(const void *p, size_t bytes, uint32_t mark, bool freed)
{
	UNIT_REQUIRE(mark);
}

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_thread_exit_init(kf_heap_detach);
	kf_host_init();
	kf_mark_hooks = (struct kf_mark_hooks){.gone = gone};
	memset(blocks, 0, sizeof(blocks));
	srandom(7);
}

static void *take(size_t size, uint32_t mark)
{
	size_t usable;

	return mark ? kf_marked_alloc(size, 16, false, mark, &usable)
		    : kf_host_alloc(size, 16, false, 0, &usable);
}

static void drop(size_t i)
{
	UNIT_REQUIRE(kf_host_free(blocks[i], 0) == KONF_FINE);
	blocks[i] = NULL;
}

/* No block may rest in a bin: it would count as used. */
static void flush(void)
{
	kf_heap_flush(kf_heap_self());
}

/* Blocks of several sizes and marks, of which most are freed. */
static void fragment(void)
{
	static const size_t sizes[] = {24, 200, 1024, 3000, 20000};

	for (size_t i = 0; i < NR_BLOCKS; i++) {
		blocks[i] = take(sizes[i % KF_ARRAY_SIZE(sizes)],
				 (uint32_t)(random() % NR_MARKS));
		UNIT_REQUIRE(blocks[i]);
	}
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		if (random() % 16)
			drop(i);
	}
	flush();
}

static void note(uint32_t mark, uint64_t parts)
{
	UNIT_REQUIRE(mark && mark < NR_MARKS);
	told[mark] += parts;
	nr_told++;
}

static uint64_t walk(void)
{
	uint64_t total;

	memset(told, 0, sizeof(told));
	nr_told = 0;
	ck_assert(kf_pinned_each(note, &total));
	return total;
}

/* The live blocks of the test in a slab. */
static uint64_t live_in(const struct kf_slab *slab)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < NR_BLOCKS; i++)
		nr += blocks[i] && kf_slab_at(blocks[i]) == slab;
	return nr;
}

START_TEST(shares_are_those_of_a_count)
{
	uint64_t want[NR_MARKS] = {0}, total = 0, seen, marked = 0;
	double exact = 0;

	start();
	fragment();
	seen = walk();
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		const struct kf_slab *slab = kf_slab_at(blocks[i]);
		uint64_t live, free;

		if (!blocks[i])
			continue;
		live = live_in(slab);
		free = (slab->carved - live) * slab->size;
		exact += (double)free / (double)live;
		total += free * KF_STATS_PINNED_PARTS / live;
		if (!kf_mark_of(blocks[i]))
			continue;
		want[kf_mark_of(blocks[i])] +=
			free * KF_STATS_PINNED_PARTS / live;
		marked++;
	}
	ck_assert_uint_gt(total / KF_STATS_PINNED_PARTS, 1 << 20);
	ck_assert_uint_eq(nr_told, marked);
	for (unsigned int i = 1; i < NR_MARKS; i++) {
		ck_assert_uint_gt(want[i], 0);
		ck_assert_uint_eq(told[i], want[i]);
	}
	ck_assert_double_eq_tol((double)seen, exact, 1);
}
END_TEST

START_TEST(full_slabs_and_large_blocks_pin_nothing)
{
	start();
	blocks[0] = take(100000, 1);
	walk();
	ck_assert_uint_eq(nr_told, 1);
	ck_assert_uint_eq(told[1], 0);
	for (size_t i = 1; i < NR_BLOCKS; i++)
		blocks[i] = take(1024, 2);
	flush();
	walk();
	ck_assert_uint_eq(nr_told, NR_BLOCKS);
	/* at most the last slab has a free block */
	ck_assert_uint_le(told[2] / KF_STATS_PINNED_PARTS,
			  KF_SLAB_PAGES * KF_PAGE);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		drop(i);
	flush();
	ck_assert_uint_eq(walk(), 0);
	ck_assert_uint_eq(nr_told, 0);
}
END_TEST

/* A place tells what one more block would pin, also once its slab is gone. */
START_TEST(place_is_of_its_slab_alone)
{
	struct kf_place place;
	const struct kf_slab *slab;
	uint64_t capacity;

	start();
	for (size_t i = 0; i < 64; i++)
		blocks[i] = take(1024, 0);
	flush();
	place = kf_pinned_place(blocks[0]);
	slab = kf_slab_at(blocks[0]);
	capacity = slab->capacity;
	ck_assert_uint_eq(place.at, (uintptr_t)blocks[0]);
	ck_assert_uint_eq(place.others, capacity - 1);
	ck_assert_uint_eq(kf_pinned_at(&place), 0);
	for (size_t i = 1; i < 64; i++) {
		if (kf_slab_at(blocks[i]) == slab)
			drop(i);
	}
	flush();
	/* one is used, and one more would be */
	ck_assert_uint_eq(kf_pinned_at(&place), (slab->carved - 2u) * 1024 *
							KF_STATS_PINNED_PARTS /
							2);
	drop(0);
	flush();
	ck_assert_uint_eq(kf_pinned_at(&place),
			  (capacity - 1) * 1024 * KF_STATS_PINNED_PARTS);
	/* another slab at the same address is not this one */
	for (size_t i = 0; i < 64; i++) {
		if (!blocks[i])
			blocks[i] = take(1024, 0);
	}
	ck_assert_uint_eq(kf_pinned_at(&place),
			  (capacity - 1) * 1024 * KF_STATS_PINNED_PARTS);
	ck_assert_uint_eq(kf_pinned_place(NULL).at, 0);
	ck_assert_uint_eq(kf_pinned_place(&place).at, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		shares_are_those_of_a_count,
		full_slabs_and_large_blocks_pin_nothing,
		place_is_of_its_slab_alone,
	};

	return unit_run("heap/pinned", tests, KF_ARRAY_SIZE(tests));
}
