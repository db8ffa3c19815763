/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/class.h: every small size has the least class that holds it.
 */
#include "heap/class.h"

#include "tests/unit/unit.h"

START_TEST(every_small_size_has_the_least_class_that_holds_it)
{
	for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
		unsigned int class = kf_class_of(size);

		UNIT_REQUIRE(class >= 1 && class < KF_NR_CLASSES);
		UNIT_REQUIRE(kf_class_bytes(class) >= size);
		UNIT_REQUIRE(class == 1 || kf_class_bytes(class - 1) < size);
	}
}
END_TEST

START_TEST(size_0_is_of_the_empty_class)
{
	ck_assert_uint_eq(kf_class_of(0), 0);
}
END_TEST

START_TEST(class_and_bytes_are_the_same_when_found_at_once)
{
	size_t bytes;

	for (size_t size = 1; size <= KF_SMALL_MAX; size++) {
		unsigned int class = kf_class_of(size);

		UNIT_REQUIRE(kf_class_around(size, &bytes) == class);
		UNIT_REQUIRE(bytes == kf_class_bytes(class));
	}
	ck_assert_uint_eq(kf_class_around(0, &bytes), 1);
	ck_assert_uint_eq(bytes, 16);
}
END_TEST

START_TEST(classes_are_at_most_an_eighth_apart)
{
	for (unsigned int class = 2; class < KF_NR_CLASSES; class ++) {
		size_t below = kf_class_bytes(class - 1);
		size_t step = kf_class_bytes(class) - below;

		ck_assert_uint_eq(kf_class_bytes(class) % 16, 0);
		ck_assert(step == 16 || step * 8 <= below);
	}
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
			UNIT_REQUIRE(align <= KF_SLAB_COLOUR ||
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
		class_and_bytes_are_the_same_when_found_at_once,
		classes_are_at_most_an_eighth_apart,
		request_at_an_alignment_has_a_class_that_serves,
		slab_is_whole_granules_and_holds_several_blocks,
	};

	return unit_run("heap/class", tests, KF_ARRAY_SIZE(tests));
}
