/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/large.c and runs.c: large blocks, and the freed runs that a heap
 * keeps for its next ones.
 *
 * All through the host, as the core asks; what is kept is told by
 * the counters that readers use.
 */
#include "config.h"

#include "heap/heap.h"
#include "heap/large.h"
#include "engines/host.h"

#include <pthread.h>
#include <string.h>

#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define BLOCK ((size_t)80 * KF_KIB)
#define NR_BLOCKS 40

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.tick_ms = UINT32_MAX;
	/* One region for all of a test. */
	kf_pages_conf.region_bytes = 32 * KF_MIB;
	kf_host_init();
}

static unsigned char *take(size_t size, size_t align, bool zeroed)
{
	size_t usable;
	unsigned char *at = kf_host_alloc(size, align, zeroed, 0, &usable);

	UNIT_REQUIRE(at);
	UNIT_REQUIRE((uintptr_t)at % align == 0);
	memset(at, 0x5a, zeroed ? 0 : size);
	return at;
}

static void drop(void *at)
{
	UNIT_REQUIRE(kf_host_free(at, 0) == KONF_FINE);
}

static size_t kept(void)
{
	return kf_heap_sum(KF_SLOT_large_kept);
}

static size_t live_large(void)
{
	return kf_word_get(KF_WORD_large) - kept();
}

START_TEST(freed_block_is_the_next_of_its_size)
{
	unsigned char *at;

	start();
	at = take(BLOCK, 16, false);
	ck_assert_uint_eq(live_large(), BLOCK);
	drop(at);
	ck_assert_uint_eq(kept(), BLOCK);
	ck_assert_uint_eq(live_large(), 0);
	ck_assert_ptr_eq(take(BLOCK, 16, false), at);
	ck_assert_uint_eq(kept(), 0);
	ck_assert_uint_eq(live_large(), BLOCK);
}
END_TEST

START_TEST(kept_run_is_not_wasted_on_a_shorter_block)
{
	unsigned char *at, *other;

	start();
	at = take(BLOCK, 16, false);
	drop(at);
	other = take(BLOCK / 2, 16, false);
	ck_assert_ptr_ne(other, at);
	/* It has 20 pages. */
	ck_assert_ptr_ne(take(17 * KF_PAGE, 16, false), at);
	ck_assert_uint_eq(kept(), BLOCK);
	ck_assert_ptr_eq(take(18 * KF_PAGE, 16, false), at);
	drop(at);
	/* More of it where others may wait for the lock. */
	kf_word_add_atomic(KF_WORD_threads, 1);
	ck_assert_ptr_ne(take(13 * KF_PAGE, 16, false), at);
	ck_assert_ptr_eq(take(14 * KF_PAGE, 16, false), at);
}
END_TEST

START_TEST(the_shortest_that_does_is_taken)
{
	unsigned char *longer, *right;

	start();
	longer = take(BLOCK + KF_PAGE, 16, false);
	right = take(BLOCK, 16, false);
	drop(right);
	drop(longer);
	ck_assert_ptr_eq(take(BLOCK, 16, false), right);
	ck_assert_ptr_eq(take(BLOCK, 16, false), longer);
}
END_TEST

START_TEST(kept_run_serves_only_an_alignment_that_it_has)
{
	unsigned char *first, *second, *at;

	start();
	first = take(BLOCK + KF_PAGE, 16, false);
	second = take(BLOCK + KF_PAGE, 16, false);
	drop(first);
	drop(second);
	at = take(BLOCK + KF_PAGE, 64 * KF_KIB, false);
	drop(at);
}
END_TEST

START_TEST(zeroed_block_of_a_kept_run_is_zero)
{
	unsigned char *at, *again;

	start();
	at = take(BLOCK, 16, false);
	drop(at);
	again = take(BLOCK, 16, true);
	ck_assert_ptr_eq(again, at);
	for (size_t i = 0; i < BLOCK; i++)
		UNIT_REQUIRE(again[i] == 0);
}
END_TEST

START_TEST(kept_runs_are_few)
{
	unsigned char *at[NR_BLOCKS];

	start();
	for (int i = 0; i < NR_BLOCKS; i++)
		at[i] = take(BLOCK, 16, false);
	for (int i = 0; i < NR_BLOCKS; i++) {
		size_t live = (NR_BLOCKS - 1 - i) * BLOCK;

		drop(at[i]);
		UNIT_REQUIRE(kept() <= 512 * KF_KIB + (live + BLOCK) / 12);
		UNIT_REQUIRE(live_large() == live);
	}
	ck_assert_uint_gt(kept(), 0);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

#define NR_MANY 200

static void *replace_half(void *blocks)
{
	unsigned char **at = blocks;

	for (int i = 0; i < NR_MANY / 2; i++) {
		drop(at[i]);
		at[i] = take(BLOCK + BLOCK / 2, 16, false);
	}
	for (int i = 0; i < NR_MANY / 2; i++)
		drop(at[i]);
	return (void *)kept();
}

/* It has none of its own, but lives on what they have. */
START_TEST(a_thread_keeps_by_its_part_of_others_blocks)
{
	static unsigned char *at[NR_MANY];
	pthread_t thread;
	void *result;

	start();
	for (int i = 0; i < NR_MANY; i++)
		at[i] = take(BLOCK, 16, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, replace_half, at), 0);
	pthread_join(thread, &result);
	ck_assert_uint_gt((size_t)result, 512 * KF_KIB);
	ck_assert_uint_le((size_t)result,
			  512 * KF_KIB + NR_MANY / 2 * BLOCK / 2 / 12);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

START_TEST(all_lengths_go_back_alike)
{
	unsigned char *at[24];

	start();
	for (int i = 0; i < 24; i++)
		at[i] = take((1 + i % 2) * KF_PAGE, 2 * KF_PAGE, false);
	for (int i = 0; i < 24; i++)
		drop(at[i]);
	ck_assert_uint_eq(kept(), 36 * KF_PAGE);
	/* Two of each. */
	for (size_t left = 30; left >= 12; left -= 6) {
		kf_runs_drop_some(kf_heap_self());
		ck_assert_uint_eq(kept(), left * KF_PAGE);
	}
	/* A quarter and what is begun of it. */
	kf_runs_drop_some(kf_heap_self());
	ck_assert_uint_eq(kept(), 8 * KF_PAGE);
	kf_runs_drop(kf_heap_self());
	ck_assert_uint_eq(kept(), 0);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

START_TEST(short_way_needs_no_small_blocks)
{
	struct kf_run *run = NULL;

	start();
	kf_process_know();
	kf_process_see();
	drop(take(BLOCK, 16, false));
	for (int i = 0; i < 2 && !run; i++)
		run = kf_large_reuse(kf_heap_self(), BLOCK);
	ck_assert_ptr_nonnull(run);
	ck_assert_uint_eq(kept(), 0);
	drop(run->start);
}
END_TEST

START_TEST(very_long_run_is_not_kept)
{
	start();
	drop(take(100 * KF_KIB, 16, false));
	UNIT_REQUIRE(kf_host_trim(0));
	kf_large_conf.mmap_threshold = 32 * KF_MIB;
	drop(take(KF_MIB, 16, false));
	ck_assert_uint_eq(kept(), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
}
END_TEST

START_TEST(kept_block_freed_again_is_a_double_free)
{
	unsigned char *at;
	enum konf_misuse wrong;

	start();
	at = take(BLOCK, 16, false);
	drop(at);
	ck_assert_uint_eq(kept(), BLOCK);
	ck_assert_int_eq(kf_host_free(at, 0), KONF_DOUBLE_FREE);
	ck_assert_uint_eq(kf_host_usable(at), 0);
	ck_assert_ptr_null(kf_host_realloc(at, 2 * BLOCK, &wrong));
	ck_assert_int_eq(wrong, KONF_DOUBLE_FREE);
}
END_TEST

START_TEST(all_are_given_back_where_memory_is_short)
{
	unsigned char *at[4];

	start();
	for (int i = 0; i < 4; i++)
		at[i] = take(BLOCK + i * 4 * KF_PAGE, 16, false);
	for (int i = 0; i < 4; i++)
		drop(at[i]);
	ck_assert_uint_gt(kept(), 3 * BLOCK);
	UNIT_REQUIRE(kf_host_trim(0));
	ck_assert_uint_eq(kept(), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
}
END_TEST

/* Or it would be mapped and unmapped each time that it grows that far. */
START_TEST(kept_runs_go_before_fresh_pages_are_taken)
{
	void *blocks[2];

	start();
	for (int i = 0; i < 2; i++)
		blocks[i] = take(BLOCK, 16, false);
	take(BLOCK, 16, false);
	drop(blocks[0]);
	/* Little is left alone. */
	take(BLOCK + BLOCK / 4, 16, false);
	ck_assert_uint_eq(kept(), BLOCK);
	drop(blocks[1]);
	ck_assert_uint_eq(kept(), 2 * BLOCK);
	ck_assert_ptr_eq(take(BLOCK + BLOCK / 4, 16, false), blocks[0]);
	ck_assert_uint_eq(kept(), 0);
}
END_TEST

START_TEST(kept_runs_stay_while_others_lie_dirty)
{
	void *blocks[4];

	start();
	for (int i = 0; i < 4; i++)
		blocks[i] = take(BLOCK, 16, false);
	for (int i = 0; i < 4; i++)
		drop(blocks[i]);
	kf_heap_trim(kf_heap_self());
	ck_assert_uint_eq(kept(), 0);
	for (int i = 0; i < 2; i++)
		blocks[i] = take(BLOCK, 16, false);
	for (int i = 0; i < 2; i++)
		drop(blocks[i]);
	ck_assert_uint_eq(kept(), 2 * BLOCK);
	take(BLOCK + BLOCK / 4, 16, false);
	ck_assert_uint_eq(kept(), 2 * BLOCK);
}
END_TEST

START_TEST(dirty_pages_come_before_a_mapping)
{
	void *blocks[3];

	start();
	take(BLOCK, 16, false);
	for (int i = 0; i < 3; i++)
		blocks[i] = take(400 * KF_KIB, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 3);
	for (int i = 0; i < 3; i++)
		drop(blocks[i]);
	/* A mapping by its size; the pages of the last two are one run now. */
	blocks[0] = take(700 * KF_KIB, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
	blocks[1] = take(700 * KF_KIB, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
	drop(blocks[0]);
	drop(blocks[1]);
}
END_TEST

/* Held from the kernel for blocks and free pages: not for tables. */
static uint64_t held(void)
{
	return kf_word_get(KF_WORD_mapped) - kf_word_get(KF_WORD_metadata);
}

START_TEST(mapping_twice_the_threshold_goes_with_its_pages)
{
	void *blocks[3];
	uint64_t before;

	start();
	take(BLOCK, 16, false);
	before = held();
	blocks[0] = take(300 * KF_KIB, 16, false);
	blocks[1] = take(400 * KF_KIB, 16, false);
	blocks[2] = take(900 * KF_KIB, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 3);
	drop(blocks[0]);
	ck_assert_uint_eq(held(), before + 1300 * KF_KIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_dirty), 0);
	/* The threshold is 304 KiB now, of which this is not the double. */
	drop(blocks[1]);
	ck_assert_uint_eq(held(), before + 1300 * KF_KIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_dirty), 400 * KF_KIB);
	drop(blocks[2]);
	ck_assert_uint_eq(held(), before + 400 * KF_KIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_dirty), 400 * KF_KIB);
	/* The next as long is a run, and stays. */
	blocks[2] = take(900 * KF_KIB, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
	drop(blocks[2]);
	ck_assert_uint_ge(kf_word_get(KF_WORD_dirty), 900 * KF_KIB);
}
END_TEST

START_TEST(room_to_grow_makes_no_mapping)
{
	enum konf_misuse wrong;
	unsigned char *at;

	start();
	kf_large_conf.mmap_threshold = 100 * KF_PAGE;
	at = take(60 * KF_PAGE, 16, false);
	take(BLOCK, 16, false);
	ck_assert_ptr_nonnull(kf_host_realloc(at, 95 * KF_PAGE, &wrong));
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
	take(100 * KF_PAGE, 16, false);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
}
END_TEST

static unsigned char *outgrow(unsigned char *at, size_t size)
{
	enum konf_misuse wrong;
	unsigned char *to = kf_host_realloc(at, size, &wrong);

	UNIT_REQUIRE(to);
	ck_assert_ptr_ne(to, at);
	return to;
}

START_TEST(what_outgrows_a_long_run_is_a_mapping_from_then_on)
{
	uint64_t moved;
	unsigned char *at;
	enum konf_misuse wrong;

	start();
	kf_large_conf.mmap_threshold = 16 * KF_MIB;
	at = take(KF_MIB, 16, false);
	take(BLOCK, 16, false);
	moved = kf_heap_sum(KF_SLOT_realloc_moved);
	at = outgrow(at, 2 * KF_MIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
	for (size_t size = 3 * KF_MIB; size <= 12 * KF_MIB; size += KF_MIB) {
		at = kf_host_realloc(at, size, &wrong);
		UNIT_REQUIRE(at);
	}
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_realloc_moved), moved + 1);
	for (size_t i = 0; i < KF_MIB; i++)
		UNIT_REQUIRE(at[i] == 0x5a);
}
END_TEST

START_TEST(a_shorter_one_is_a_run_again)
{
	unsigned char *at;

	start();
	kf_large_conf.mmap_threshold = 16 * KF_MIB;
	at = take(KF_MIB / 4, 16, false);
	take(BLOCK, 16, false);
	outgrow(at, KF_MIB / 2);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
}
END_TEST

START_TEST(what_grows_takes_what_lies_dirty_too)
{
	void *blocks[NR_BLOCKS];
	unsigned char *at, *other;

	start();
	for (int i = 0; i < NR_BLOCKS; i++)
		blocks[i] = take(BLOCK, 16, false);
	at = take(BLOCK, 16, false);
	other = take(BLOCK, 16, false);
	take(BLOCK, 16, false);
	for (int i = 0; i < NR_BLOCKS; i++)
		drop(blocks[i]);
	ck_assert_uint_gt(kf_word_get(KF_WORD_dirty), 2 * KF_MIB);
	/* A mapping by its size. */
	outgrow(at, KF_MIB / 2);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
	/* One that has its pages moved from then on. */
	at = outgrow(other, KF_MIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
	for (size_t i = 0; i < BLOCK; i++)
		UNIT_REQUIRE(at[i] == 0x5a);
}
END_TEST

START_TEST(a_threshold_that_was_set_holds_for_what_grows)
{
	unsigned char *at;

	start();
	kf_large_conf.mmap_threshold = 16 * KF_MIB;
	kf_large_conf.dynamic = false;
	at = take(KF_MIB, 16, false);
	take(BLOCK, 16, false);
	outgrow(at, 2 * KF_MIB);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
}
END_TEST

START_TEST(what_grows_by_little_has_a_quarter_of_room)
{
	const size_t sizes[] = {200, 3000, 20000, BLOCK, KF_MIB / 2};

	start();
	kf_large_conf.mmap_threshold = 16 * KF_MIB;
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		unsigned char *at = take(sizes[i], 16, false);
		size_t size = kf_host_usable(at) + sizes[i] / 16;

		take(sizes[i], 16, false);
		at = outgrow(at, size);
		ck_assert_uint_ge(kf_host_usable(at), size + size / 4);
		ck_assert_uint_le(kf_host_usable(at),
				  size + size / 2 + KF_PAGE);
	}
}
END_TEST

START_TEST(what_grows_by_much_has_no_room)
{
	const size_t sizes[] = {BLOCK, KF_MIB / 2};

	start();
	kf_large_conf.mmap_threshold = 16 * KF_MIB;
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		unsigned char *at = take(sizes[i], 16, false);
		size_t size = KF_ALIGN_UP(sizes[i] / 10 * 13, KF_PAGE);

		take(sizes[i], 16, false);
		at = outgrow(at, size);
		ck_assert_uint_eq(kf_host_usable(at), size);
	}
	/* As much as a new one of its size. */
	for (size_t size = 224; size <= KF_SMALL_MAX / 2; size *= 2) {
		unsigned char *at = outgrow(take(size, 16, false), 2 * size);

		ck_assert_uint_eq(kf_host_usable(at),
				  kf_class_bytes(kf_class_of(2 * size)));
	}
}
END_TEST

static void *take_and_drop(void *unused)
{
	drop(take(BLOCK, 16, false));
	kf_heap_detach();
	return unused;
}

START_TEST(a_thread_that_has_gone_keeps_nothing_for_long)
{
	pthread_t thread;

	start();
	take(1, 16, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, take_and_drop, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(kept(), BLOCK);
	kf_heap_scavenge();
	ck_assert_uint_eq(kept(), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
}
END_TEST

START_TEST(info_counts_kept_runs_as_cached)
{
	struct kf_host_info before, info;
	unsigned char *at;

	start();
	at = take(BLOCK, 16, false);
	kf_host_info(&before);
	drop(at);
	kf_host_info(&info);
	ck_assert_uint_eq(info.used, before.used - BLOCK);
	ck_assert_uint_eq(info.cached, before.cached + BLOCK);
	ck_assert_uint_eq(info.free.free, before.free.free);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		freed_block_is_the_next_of_its_size,
		kept_run_is_not_wasted_on_a_shorter_block,
		the_shortest_that_does_is_taken,
		kept_run_serves_only_an_alignment_that_it_has,
		zeroed_block_of_a_kept_run_is_zero,
		kept_runs_are_few,
		a_thread_keeps_by_its_part_of_others_blocks,
		all_lengths_go_back_alike,
		short_way_needs_no_small_blocks,
		very_long_run_is_not_kept,
		kept_block_freed_again_is_a_double_free,
		kept_runs_go_before_fresh_pages_are_taken,
		kept_runs_stay_while_others_lie_dirty,
		dirty_pages_come_before_a_mapping,
		mapping_twice_the_threshold_goes_with_its_pages,
		room_to_grow_makes_no_mapping,
		what_outgrows_a_long_run_is_a_mapping_from_then_on,
		a_shorter_one_is_a_run_again,
		what_grows_takes_what_lies_dirty_too,
		a_threshold_that_was_set_holds_for_what_grows,
		what_grows_by_little_has_a_quarter_of_room,
		what_grows_by_much_has_no_room,
		all_are_given_back_where_memory_is_short,
		a_thread_that_has_gone_keeps_nothing_for_long,
		info_counts_kept_runs_as_cached,
	};

	return unit_run("heap/runs", tests, KF_ARRAY_SIZE(tests));
}
