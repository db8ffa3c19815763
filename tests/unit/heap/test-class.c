/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/class.h: every small size has the least class that holds it.
 */
#include "heap/class.h"

#include "tests/unit/unit.h"

START_TEST(every_small_size_has_the_least_class_that_holds_it)
{
	size_t last = 0;

	for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
		unsigned int class = kf_class_of(size);
		size_t bytes = kf_class_bytes(class);

		UNIT_REQUIRE(class >= 1 && class < KF_NR_CLASSES);
		UNIT_REQUIRE(bytes >= size);
		UNIT_REQUIRE(bytes == last || last == size - 1);
		UNIT_REQUIRE(kf_class_of(bytes) == class);
		last = bytes;
	}
}
END_TEST

START_TEST(size_0_is_of_the_empty_class)
{
	ck_assert_uint_eq(kf_class_of(0), 0);
}
END_TEST

START_TEST(blocks_of_other_engines_are_counted_to_16_bytes)
{
	size_t bytes;

	for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
		unsigned int class = kf_class_around(size, &bytes);

		UNIT_REQUIRE(bytes == kf_class_bytes(class));
		UNIT_REQUIRE(class == (size <= KF_TINY_MAX
					       ? (size + 15) / 16
					       : kf_class_of(size)));
	}
	ck_assert_uint_eq(kf_class_around(0, &bytes), 1);
	ck_assert_uint_eq(bytes, 16);
}
END_TEST

START_TEST(classes_are_at_most_an_eighth_apart)
{
	size_t nr = 0, below = 0;

	for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
		size_t bytes = kf_class_bytes(kf_class_of(size));

		if (bytes == below)
			continue;
		UNIT_REQUIRE(bytes % 16 == 0);
		UNIT_REQUIRE(bytes - below == 16 ||
			     (bytes - below) * 8 <= below);
		below = bytes;
		nr++;
	}
	/* Eight to 128 bytes, eight to each doubling from there on. */
	ck_assert_uint_eq(nr, 8 + 8 * 8);
	ck_assert_uint_eq(kf_class_bytes(KF_NR_CLASSES - 1), KF_SMALL_MAX);
}
END_TEST

START_TEST(request_at_an_alignment_has_a_class_that_serves)
{
	for (size_t align = 16; align <= KF_PAGE; align *= 2) {
		for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
			size_t request = kf_class_request(size, align);
			size_t bytes = kf_class_bytes(kf_class_of(request));

			UNIT_REQUIRE(request >= size);
			UNIT_REQUIRE(request <= KF_SMALL_MAX);
			UNIT_REQUIRE(bytes % align == 0);
			/* The others' slabs may begin anywhere. */
			UNIT_REQUIRE(align <= KF_SLAB_OFFSET_STEP ||
				     bytes <= KF_TINY_MAX ||
				     (bytes & (bytes - 1)) == 0);
		}
	}
}
END_TEST

START_TEST(slab_is_whole_granules_and_holds_several_blocks)
{
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		size_t bytes = kf_class_bytes(class), last = 0;

		for (size_t nr = 0; nr < 10; nr++) {
			size_t pages = kf_class_slab_pages(class, nr, 0);
			size_t more = kf_class_slab_pages(class, nr, 4);

			ck_assert_uint_eq(pages % KF_GRANULE_PAGES, 0);
			ck_assert_uint_ge(pages * KF_PAGE / bytes, 2);
			ck_assert_uint_ge(more * KF_PAGE / (bytes + 4), 2);
			ck_assert_uint_ge(pages, last);
			ck_assert_uint_ge(more, pages);
			last = pages;
		}
		ck_assert_uint_ge(last * KF_PAGE / bytes, 8);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		every_small_size_has_the_least_class_that_holds_it,
		size_0_is_of_the_empty_class,
		blocks_of_other_engines_are_counted_to_16_bytes,
		classes_are_at_most_an_eighth_apart,
		request_at_an_alignment_has_a_class_that_serves,
		slab_is_whole_granules_and_holds_several_blocks,
	};

	return unit_run("heap/class", tests, KF_ARRAY_SIZE(tests));
}
