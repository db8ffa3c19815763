/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/fast.h: medium blocks, which wait in the heap and not in their slabs.
 */
#include "config.h"

#include "heap/audit.h"
#include "heap/large.h"
#include "heap/fast.h"
#include "engines/host.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "tests/unit/unit.h"

#define BYTES ((size_t)4096)
#define NR_BLOCKS 100

static unsigned int class;
static void *blocks[NR_BLOCKS];

static struct kf_heap *start(void)
{
	kf_stats_init();
	kf_host_init();
	class = kf_class_of(BYTES);
	return kf_heap_get();
}

/* With the fast paths open. */
static struct kf_heap *start_known(void)
{
	struct kf_heap *heap = start();

	kf_process_know();
	kf_countdown_set(0);
	kf_process_see();
	return heap;
}

/* As malloc and free do it. */
static void *take(struct kf_heap *heap)
{
	size_t usable;
	bool zeroed;
	void *p = kf_fast_pop(heap, BYTES, true, &usable, &zeroed);

	if (!p)
		p = kf_host_alloc(BYTES, 16, false, 0, &usable);
	UNIT_REQUIRE(p);
	ck_assert_uint_eq(usable, BYTES);
	return p;
}

static bool keep(struct kf_heap *heap, void *p)
{
	return kf_fast_keep(heap, kf_slab_at(p), p);
}

static void take_all(struct kf_heap *heap)
{
	for (size_t i = 0; i < NR_BLOCKS; i++)
		blocks[i] = take(heap);
}

START_TEST(block_freed_last_is_the_next)
{
	struct kf_heap *heap = start();

	take_all(heap);
	UNIT_REQUIRE(keep(heap, blocks[7]));
	UNIT_REQUIRE(keep(heap, blocks[90]));
	ck_assert_uint_eq(heap->cache[class].nr, 2);
	ck_assert_ptr_eq(take(heap), blocks[90]);
	ck_assert_ptr_eq(take(heap), blocks[7]);
	ck_assert_uint_eq(heap->cache[class].nr, 0);
	ck_assert_int_eq(heap->kept, 0);
	ck_assert_uint_eq(kf_heap_live_small(), NR_BLOCKS * BYTES);
}
END_TEST

/* Beyond the bound blocks go to their slabs. */
START_TEST(bytes_that_are_kept_have_a_bound)
{
	struct kf_heap *heap = start();

	take_all(heap);
	heap->kept = heap->kept_max - 2 * BYTES;
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		if (!keep(heap, blocks[i]))
			ck_assert_int_eq(kf_host_free(blocks[i], 0), KONF_FINE);
	}
	ck_assert_uint_eq(heap->cache[class].nr, 2);
	ck_assert_int_eq(heap->kept, heap->kept_max);
	ck_assert_uint_eq(kf_heap_live_small(), 0);
}
END_TEST

START_TEST(they_go_back_before_fresh_pages_are_taken)
{
	struct kf_heap *heap = start();
	uint64_t held;
	size_t usable;

	take_all(heap);
	UNIT_REQUIRE(NR_BLOCKS * BYTES > KF_KEPT_STAY);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		UNIT_REQUIRE(keep(heap, blocks[i]));
	held = kf_word_get(KF_WORD_slabs);
	class = kf_class_of(4 * BYTES);
	for (size_t i = 0; i < NR_BLOCKS / 8; i++)
		UNIT_REQUIRE(kf_host_alloc(4 * BYTES, 16, false, 0, &usable));
	ck_assert_int_le(heap->kept, KF_KEPT_STAY);
	ck_assert_uint_le(kf_word_get(KF_WORD_slabs), held);
}
END_TEST

START_TEST(damaged_blocks_are_kept_no_longer)
{
	struct kf_heap *heap = start();

	take_all(heap);
	for (size_t i = 0; i < 10; i++)
		UNIT_REQUIRE(keep(heap, blocks[i]));
	*(void **)blocks[5] = blocks;
	UNIT_REQUIRE(!kf_audit_cache(heap, class, UINT64_MAX));
	ck_assert_uint_eq(heap->cache[class].nr, 0);
	ck_assert_int_eq(heap->kept, 0);
}
END_TEST

START_TEST(trim_gives_them_back)
{
	struct kf_heap *heap = start();

	take_all(heap);
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		if (!keep(heap, blocks[i]))
			ck_assert_int_eq(kf_host_free(blocks[i], 0), KONF_FINE);
	}
	ck_assert_uint_gt(heap->cache[class].nr, 0);
	kf_heap_trim(heap);
	ck_assert_uint_eq(heap->cache[class].nr, 0);
	kf_heap_flush(heap);
	ck_assert_int_eq(heap->kept, 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), 0);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

START_TEST(what_is_no_block_or_free_is_not_taken)
{
	struct kf_heap *heap = start();
	struct kf_slab *slab;

	take_all(heap);
	slab = kf_slab_at(blocks[0]);
	UNIT_REQUIRE(!kf_fast_keep(heap, slab, (char *)blocks[0] + 16));
	UNIT_REQUIRE(keep(heap, blocks[0]));
	UNIT_REQUIRE(!keep(heap, blocks[0]));
	UNIT_REQUIRE(kf_slab_has_free(heap, slab, blocks[0]));
	ck_assert_int_eq(kf_host_free(blocks[0], 0), KONF_DOUBLE_FREE);
}
END_TEST

/* The sample is the slow path's. */
START_TEST(none_is_handed_out_where_a_sample_is_near)
{
	struct kf_heap *heap = start_known();
	size_t usable;
	bool zeroed;

	take_all(heap);
	UNIT_REQUIRE(keep(heap, blocks[0]));
	heap->countdown.mean = 1 << 20;
	heap->countdown.left = BYTES - 1;
	ck_assert_ptr_null(kf_fast_pop(heap, BYTES, true, &usable, &zeroed));
	UNIT_REQUIRE(kf_heap_sample_is_due(heap, class));
	ck_assert_uint_eq(heap->due_mean[class], 1 << 20);
	ck_assert_ptr_eq(heap->due_at[class], blocks[0]);
	heap->due[class] = 0;
	heap->countdown.left = BYTES;
	ck_assert_ptr_eq(kf_fast_reuse(heap, class, BYTES), blocks[0]);
	UNIT_REQUIRE(!kf_heap_sample_is_due(heap, class));
	ck_assert_int_eq(heap->countdown.left, 0);
}
END_TEST

/* Blocks of the bin were charged: the sample is not to fall behind them. */
START_TEST(sample_of_a_cached_block_is_due_before_those_of_the_bin)
{
	const size_t least = kf_class_bytes(KF_NR_TINY + 1);
	struct kf_heap *heap = start_known();
	size_t usable;
	bool zeroed;
	void *p;

	class = kf_class_of(least);
	p = kf_host_alloc(least, 16, false, 0, &usable);
	UNIT_REQUIRE(p && kf_bin_first(&heap->front.bin[class]));
	UNIT_REQUIRE(keep(heap, p));
	kf_countdown_update(&heap->countdown);
	heap->countdown.mean = 1 << 20;
	heap->countdown.left = (int64_t)least - 1;
	ck_assert_ptr_null(kf_fast_pop(heap, least, true, &usable, &zeroed));
	UNIT_REQUIRE(kf_heap_sample_is_due(heap, class));
	ck_assert_ptr_eq(heap->due_at[class], p);
	UNIT_REQUIRE(kf_bin_first(&heap->front.bin[class]));
}
END_TEST

/* A block of a bin may read as zeroes, this one does not. */
START_TEST(reused_block_is_not_said_to_be_zeroed)
{
	struct kf_heap *heap = start();
	bool zeroed = true;
	size_t usable;

	take_all(heap);
	UNIT_REQUIRE(keep(heap, blocks[0]));
	heap->front.bin[class].source |= KF_BIN_ZEROED;
	ck_assert_ptr_eq(kf_fast_pop(heap, BYTES, true, &usable, &zeroed),
			 blocks[0]);
	UNIT_REQUIRE(!zeroed);
}
END_TEST

START_TEST(larger_block_serves_where_it_may)
{
	struct kf_heap *heap = start_known();
	size_t larger = kf_class_bytes(class + 1), usable;
	bool zeroed = false;
	void *p;

	UNIT_REQUIRE(kf_heap_alloc(heap, class + 1, larger, false, &zeroed));
	p = kf_fast_pop(heap, BYTES, true, &usable, &zeroed);
	ck_assert_uint_eq(usable, larger);
	UNIT_REQUIRE(zeroed && kf_slab_at(p)->size == larger);
	ck_assert_uint_eq(heap->nr_slabs[class], 0);
	ck_assert_uint_eq(kf_heap_live_small(), 2 * larger);
	/* Not for an alignment, which the larger class may not have. */
	p = kf_fast_pop(heap, BYTES, false, &usable, &zeroed);
	ck_assert_uint_eq(usable, BYTES);
	UNIT_REQUIRE(kf_slab_at(p)->size == BYTES);
}
END_TEST

START_TEST(slab_is_made_where_there_is_none)
{
	struct kf_heap *heap = start_known();
	size_t usable;
	bool zeroed;

	heap->due[class] = kf_sample_epoch;
	ck_assert_ptr_null(kf_fast_pop(heap, BYTES, true, &usable, &zeroed));
	heap->due[class] = 0;
	UNIT_REQUIRE(kf_fast_pop(heap, BYTES, true, &usable, &zeroed));
	ck_assert_uint_eq(usable, BYTES);
	ck_assert_uint_eq(heap->nr_slabs[class], 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		block_freed_last_is_the_next,
		bytes_that_are_kept_have_a_bound,
		they_go_back_before_fresh_pages_are_taken,
		damaged_blocks_are_kept_no_longer,
		trim_gives_them_back,
		what_is_no_block_or_free_is_not_taken,
		none_is_handed_out_where_a_sample_is_near,
		sample_of_a_cached_block_is_due_before_those_of_the_bin,
		reused_block_is_not_said_to_be_zeroed,
		larger_block_serves_where_it_may,
		slab_is_made_where_there_is_none,
	};

	return unit_run("heap/medium", tests, KF_ARRAY_SIZE(tests));
}
