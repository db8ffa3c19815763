/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kf_pages_recycle() and kf_pages_alloc_dirty(): the pages of a freed mapping
 * serve runs, and what lies dirty serves before anything is mapped.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "tests/unit/pages/support.h"

#define NR_PAGES 512

static struct kf_run *take_written(size_t nr_pages)
{
	struct kf_run *run = kf_pages_map(nr_pages, 1);

	UNIT_REQUIRE(run && run->kind == KF_RUN_MAPPED);
	memset(run->start, 1, kf_run_bytes(run));
	return run;
}

/* Without the tables, of which a page may come in with any address. */
static uint64_t held_for_blocks(void)
{
	return kf_word_get(KF_WORD_mapped) - kf_word_get(KF_WORD_metadata);
}

static uint64_t owned(void)
{
	return kf_word_get(KF_WORD_large) + kf_word_get(KF_WORD_mapped_blocks) +
	       kf_word_get(KF_WORD_mapped_blocks_size);
}

START_TEST(pages_of_a_mapping_serve_a_run)
{
	struct kf_run *run;
	uint64_t held;
	char *from;

	floor_start();
	floor_take(1, 1);
	run = take_written(NR_PAGES);
	from = run->start;
	held = held_for_blocks();
	kf_pages_recycle(run);
	ck_assert_uint_eq(floor_check().dirty, NR_PAGES * KF_PAGE);
	ck_assert_uint_eq(held_for_blocks(), held);
	ck_assert_uint_eq(kf_word_get(KF_WORD_returned), 0);
	ck_assert_uint_eq(owned(), KF_PAGE);
	ck_assert_int_eq(nr_resident(from, NR_PAGES), -1);
	ck_assert_ptr_null(kf_map_find(from));
	ck_assert(kf_pages_was_mapped(from));
	run = kf_pages_alloc_dirty(NR_PAGES, 1, KF_RUN_LARGE);
	ck_assert_ptr_nonnull(run);
	ck_assert_ptr_nonnull(run->region);
	/* Before them lies what the region had committed and not used. */
	ck_assert_int_gt(nr_resident(run->start, NR_PAGES), NR_PAGES - 16);
	ck_assert_int_eq(run->start[NR_PAGES * KF_PAGE - 1], 1);
	ck_assert_ptr_eq(kf_map_find(run->start), run);
	floor_check();
}
END_TEST

START_TEST(recycled_pages_merge_and_go_like_others)
{
	struct kf_run *run;

	floor_start();
	run = floor_take(1, 1);
	for (int i = 0; i < 3; i++)
		kf_pages_recycle(take_written(NR_PAGES));
	kf_pages_free(run);
	ck_assert_uint_ge(floor_check().largest, 3 * NR_PAGES * KF_PAGE);
	ck_assert_uint_eq(floor_check().free_runs, 1);
	kf_pages_trim(0);
	ck_assert_uint_eq(floor_check().dirty, 0);
	ck_assert_uint_eq(floor_check().free, 0);
	floor_take(4 * NR_PAGES, 1);
	floor_check();
}
END_TEST

START_TEST(first_memory_of_all_may_be_recycled)
{
	floor_start();
	kf_pages_recycle(take_written(NR_PAGES));
	ck_assert_uint_eq(floor_check().dirty, NR_PAGES * KF_PAGE);
	ck_assert_uint_eq(kf_word_get(KF_WORD_heaps), 1);
	kf_pages_trim(0);
	ck_assert_uint_eq(floor_check().free, 0);
}
END_TEST

START_TEST(mapping_longer_than_any_region_is_recycled)
{
	floor_start_of(KF_MIB);
	floor_take(1, 1);
	kf_pages_recycle(take_written(4 * NR_PAGES));
	ck_assert_uint_eq(floor_check().dirty, 4 * NR_PAGES * KF_PAGE);
	ck_assert_ptr_nonnull(
		kf_pages_alloc_dirty(4 * NR_PAGES, 1, KF_RUN_LARGE));
	floor_check();
}
END_TEST

START_TEST(older_pages_make_room_for_recycled_ones)
{
	struct kf_run *run;

	floor_start();
	kf_pages_conf.dirty_max = 2 * NR_PAGES * KF_PAGE;
	run = floor_take(2 * NR_PAGES, 1);
	floor_take(1, 1);
	memset(run->start, 1, kf_run_bytes(run));
	kf_pages_free(run);
	kf_pages_recycle(take_written(NR_PAGES));
	ck_assert_uint_le(floor_check().dirty, 2 * NR_PAGES * KF_PAGE);
	run = kf_pages_alloc_dirty(NR_PAGES, 1, KF_RUN_LARGE);
	ck_assert_ptr_nonnull(run);
	kf_pages_free(run);
	floor_check();
}
END_TEST

START_TEST(of_a_mapping_that_is_too_long_a_part_is_recycled)
{
	uint64_t dirty, free;

	floor_start();
	kf_pages_conf.dirty_max = 2 * NR_PAGES * KF_PAGE;
	floor_take(1, 1);
	kf_pages_recycle(take_written(3 * NR_PAGES));
	dirty = floor_check().dirty;
	ck_assert_uint_le(dirty, (2 * NR_PAGES + 1) * KF_PAGE);
	ck_assert_uint_gt(dirty, NR_PAGES * KF_PAGE);
	free = floor_check().free;
	/* More than twice as much as may lie dirty goes whole. */
	kf_pages_recycle(take_written(5 * NR_PAGES));
	ck_assert_uint_eq(floor_check().free, free);
	ck_assert_uint_eq(floor_check().dirty, dirty);
}
END_TEST

START_TEST(protected_mapping_can_be_written_again)
{
	struct kf_run *run;

	floor_start();
	floor_take(1, 1);
	run = take_written(NR_PAGES);
	ck_assert_int_eq(mprotect(run->start, KF_PAGE, PROT_READ), 0);
	kf_pages_recycle(run);
	run = floor_take(NR_PAGES, 1);
	memset(run->start, 2, kf_run_bytes(run));
	floor_check();
}
END_TEST

START_TEST(mapping_that_the_kernel_refuses_goes_back)
{
	struct kf_run *run;
	uint64_t held;
	char *from;

	floor_start();
	floor_take(1, 1);
	held = held_for_blocks();
	run = take_written(NR_PAGES);
	from = run->start;
	ck_assert_int_eq(munmap(from + KF_PAGE, KF_PAGE), 0);
	kf_pages_recycle(run);
	ck_assert_int_eq(nr_resident(from, 1), -1);
	ck_assert_int_eq(nr_resident(from + 2 * KF_PAGE, 1), -1);
	ck_assert_ptr_null(kf_map_find(from));
	ck_assert(kf_pages_was_mapped(from));
	ck_assert_uint_eq(floor_check().dirty, 0);
	ck_assert_uint_eq(held_for_blocks(), held);
	/* And leaves the region as it was. */
	floor_take(NR_PAGES, 1);
	floor_check();
}
END_TEST

START_TEST(mappings_are_recycled_up_to_a_number)
{
	floor_start();
	kf_pages.nr_recycled = KF_RECYCLED_MAX - 1;
	kf_pages_recycle(take_written(4));
	ck_assert_uint_eq(floor_check().dirty, 4 * KF_PAGE);
	kf_pages_recycle(take_written(4));
	ck_assert_uint_eq(floor_check().dirty, 4 * KF_PAGE);
	ck_assert_uint_eq(owned(), 0);
}
END_TEST

START_TEST(fresh_pages_are_no_dirty_ones)
{
	struct kf_run *run;

	floor_start();
	ck_assert_ptr_null(kf_pages_alloc_dirty(1, 1, KF_RUN_LARGE));
	run = floor_take(NR_PAGES, 1);
	floor_take(1, 1);
	kf_pages_free(run);
	ck_assert_ptr_null(kf_pages_alloc_dirty(NR_PAGES + 1, 1, KF_RUN_LARGE));
	ck_assert_ptr_eq(kf_pages_alloc_dirty(NR_PAGES, 1, KF_RUN_LARGE), run);
	kf_pages_free(run);
	kf_pages_trim(0);
	ck_assert_ptr_null(kf_pages_alloc_dirty(NR_PAGES, 1, KF_RUN_LARGE));
	floor_check();
}
END_TEST

START_TEST(random_mappings_and_runs_leave_every_byte_counted)
{
	static struct kf_run *runs[100];
	uint64_t state = 11;

	floor_start();
	kf_pages_conf.dirty_max = 4 * KF_MIB;
	for (int i = 0; i < 20000; i++) {
		size_t n = chance_below(&state, KF_ARRAY_SIZE(runs));
		size_t nr = 1 + chance_below(&state, 60);
		bool zeroed;

		if (runs[n] && runs[n]->kind == KF_RUN_MAPPED)
			kf_pages_recycle(runs[n]);
		else if (runs[n])
			kf_pages_free(runs[n]);
		runs[n] = NULL;
		switch (chance_below(&state, 4)) {
		case 0:
			runs[n] = kf_pages_map(nr, 1);
			zeroed = true;
			break;
		case 1:
			runs[n] = kf_pages_alloc(nr, 1, KF_RUN_LARGE, &zeroed);
			break;
		case 2:
			runs[n] = kf_pages_alloc_dirty(nr, 1, KF_RUN_LARGE);
			zeroed = false;
			break;
		}
		if (runs[n] && zeroed)
			UNIT_REQUIRE(
				!runs[n]->start[0] &&
				!runs[n]->start[kf_run_bytes(runs[n]) - 1]);
		if (runs[n])
			memset(runs[n]->start, 1, kf_run_bytes(runs[n]));
		if (i % 50 == 0)
			floor_check();
		/* A number that most of this test does not reach. */
		kf_pages.nr_recycled = 0;
	}
	ck_assert_uint_gt(kf_word_get(KF_WORD_purges), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		pages_of_a_mapping_serve_a_run,
		recycled_pages_merge_and_go_like_others,
		first_memory_of_all_may_be_recycled,
		mapping_longer_than_any_region_is_recycled,
		older_pages_make_room_for_recycled_ones,
		of_a_mapping_that_is_too_long_a_part_is_recycled,
		protected_mapping_can_be_written_again,
		mapping_that_the_kernel_refuses_goes_back,
		mappings_are_recycled_up_to_a_number,
		fresh_pages_are_no_dirty_ones,
		random_mappings_and_runs_leave_every_byte_counted,
	};

	return unit_run("pages/recycle", tests, KF_ARRAY_SIZE(tests));
}
