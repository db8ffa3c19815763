/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/mapped.c and map.c: runs with a mapping of their own, and which run an
 * address belongs to.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/pages/support.h"

static struct kf_run *take_mapped(size_t nr_pages, size_t align_pages)
{
	struct kf_run *run = kf_pages_map(nr_pages, align_pages);

	ck_assert_ptr_nonnull(run);
	ck_assert_uint_eq(run->nr_pages, nr_pages);
	ck_assert_uint_eq((uintptr_t)run->start % (align_pages * KF_PAGE), 0);
	ck_assert_uint_eq((uintptr_t)run->start % KF_GRANULE, 0);
	return run;
}

START_TEST(mapping_reads_as_zeroes_and_is_aligned)
{
	floor_start();
	for (size_t align = 1; align <= 4096; align *= 4) {
		struct kf_run *run = take_mapped(100, align);

		for (size_t i = 0; i < kf_run_bytes(run); i++)
			UNIT_REQUIRE(run->start[i] == 0);
		memset(run->start, 1, kf_run_bytes(run));
		floor_check();
	}
}
END_TEST

START_TEST(freed_mapping_is_gone_and_foreign)
{
	struct kf_run *run;
	char *start;

	floor_start();
	run = take_mapped(100, 1);
	start = run->start;
	memset(start, 1, 100 * KF_PAGE);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 1);
	ck_assert(!kf_pages_was_mapped(start));
	kf_pages_free(run);
	ck_assert(kf_pages_was_mapped(start));
	ck_assert(!kf_pages_was_mapped(start + KF_PAGE));
	ck_assert_int_eq(nr_resident(start, 100), -1);
	ck_assert_ptr_null(kf_map_find(start));
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
	floor_check();
}
END_TEST

START_TEST(moved_mapping_keeps_its_contents)
{
	uint64_t state = 4;
	struct kf_run *run;
	char *from;

	floor_start();
	run = take_mapped(3, 1);
	for (size_t i = 0; i < 3 * KF_PAGE / 8; i++)
		((uint64_t *)run->start)[i] = chance_next(&state);
	from = run->start;
	ck_assert(kf_pages_remap(run, 5000));
	ck_assert_uint_eq(run->nr_pages, 5000);
	state = 4;
	for (size_t i = 0; i < 3 * KF_PAGE / 8; i++)
		UNIT_REQUIRE(((uint64_t *)run->start)[i] ==
			     chance_next(&state));
	for (size_t i = 3 * KF_PAGE; i < kf_run_bytes(run); i++)
		UNIT_REQUIRE(run->start[i] == 0);
	ck_assert_ptr_eq(kf_map_find(run->start), run);
	ck_assert(from == run->start ||
		  (!kf_map_find(from) && kf_pages_was_mapped(from)));
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 5000 * KF_PAGE);
	floor_check();
	kf_pages_free(run);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
	floor_check();
}
END_TEST

START_TEST(mapping_shrinks_in_its_place)
{
	struct kf_run *run;
	char *start;

	floor_start();
	run = take_mapped(100, 1);
	start = run->start;
	memset(start, 7, 100 * KF_PAGE);
	ck_assert(kf_pages_resize(run, 10));
	ck_assert_ptr_eq(run->start, start);
	ck_assert_int_eq(nr_resident(start, 10), 10);
	ck_assert_int_eq(nr_resident(start, 11), -1);
	ck_assert_int_eq(start[10 * KF_PAGE - 1], 7);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped_blocks_size),
			  10 * KF_PAGE);
	floor_check();
	kf_pages_free(run);
	floor_check();
}
END_TEST

START_TEST(every_address_of_a_slab_leads_to_it)
{
	struct kf_run *runs[20];
	bool zeroed;

	floor_start();
	for (int i = 0; i < 20; i++) {
		runs[i] =
			kf_pages_alloc((1 + i % 4) * KF_GRANULE_PAGES,
				       KF_GRANULE_PAGES, KF_RUN_SLAB, &zeroed);
		ck_assert_ptr_nonnull(runs[i]);
		floor_take(5, 1);
	}
	for (int i = 0; i < 20; i++) {
		for (char *p = runs[i]->start; p < kf_run_end(runs[i]); p += 99)
			UNIT_REQUIRE(kf_map_get(p) == runs[i] &&
				     kf_map_find(p) == runs[i]);
	}
	/* Neither a freed slab's granules nor what is committed after. */
	for (int i = 0; i < 20; i += 2) {
		char *start = runs[i]->start;

		kf_pages_free(runs[i]);
		ck_assert_int_ne(kf_map_get(start)->kind, KF_RUN_SLAB);
	}
	floor_take(3000, 1);
	for (int i = 1; i < 20; i += 2) {
		for (char *p = runs[i]->start; p < kf_run_end(runs[i]); p += 99)
			UNIT_REQUIRE(kf_map_get(p) == runs[i]);
	}
	floor_check();
}
END_TEST

START_TEST(first_and_last_page_of_a_run_lead_to_it)
{
	floor_start();
	for (size_t nr = 1; nr < 60; nr += 7) {
		struct kf_run *run = floor_take(nr, 1);

		ck_assert_ptr_eq(kf_map_find(run->start), run);
		ck_assert_ptr_eq(kf_map_find(kf_run_end(run) - 1), run);
	}
}
END_TEST

START_TEST(foreign_addresses_lead_nowhere)
{
	static char in_data;
	char on_stack;
	void *block = malloc(100);

	floor_start();
	floor_take(1, 1);
	ck_assert_ptr_null(kf_map_find(&in_data));
	ck_assert_ptr_null(kf_map_find(&on_stack));
	ck_assert_ptr_null(kf_map_find(block));
	ck_assert_ptr_null(kf_map_find(NULL));
	ck_assert_ptr_null(kf_map_find((void *)UINTPTR_MAX));
	ck_assert_ptr_null(kf_map_find((void *)((uintptr_t)1 << 47)));
	ck_assert_ptr_null(kf_map_find((void *)16));
	ck_assert_int_eq(kf_map_get(&on_stack)->kind, KF_RUN_NONE);
	free(block);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		mapping_reads_as_zeroes_and_is_aligned,
		freed_mapping_is_gone_and_foreign,
		moved_mapping_keeps_its_contents,
		mapping_shrinks_in_its_place,
		every_address_of_a_slab_leads_to_it,
		first_and_last_page_of_a_run_lead_to_it,
		foreign_addresses_lead_nowhere,
	};

	return unit_run("pages/mapped", tests, KF_ARRAY_SIZE(tests));
}
