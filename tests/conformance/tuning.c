/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc_trim and mallopt: what they return, and that they mean our heap.
 */
#include "case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define NR_BLOCKS 16384

static char *block[NR_BLOCKS];

static void fill_and_free(size_t n, int nr)
{
	for (int i = 0; i < nr; i++) {
		block[i] = malloc(n);
		CHECK(block[i]);
		memset(block[i], 1, n);
	}
	for (int i = 0; i < nr; i++)
		free(block[i]);
}

/* How far the resident set falls from its peak, by freeing and trimming. */
static size_t fall_after_trim(size_t n, int nr)
{
	size_t peak, after;

	for (int i = 0; i < nr; i++) {
		block[i] = malloc(n);
		CHECK(block[i]);
		memset(block[i], 1, n);
	}
	peak = kf_resident();
	for (int i = 0; i < nr; i++)
		free(block[i]);
	CHECK_EQ(malloc_trim(0), 1);
	after = kf_resident();
	return after < peak ? peak - after : 0;
}

CASE(malloc_trim_returns_the_pages_of_small_blocks)
{
	CHECK(fall_after_trim(1000, NR_BLOCKS) > 14 * KF_MIB_BYTES);
}

CASE(malloc_trim_returns_the_pages_of_medium_blocks)
{
	CHECK(fall_after_trim(16000, 1500) > 20 * KF_MIB_BYTES);
}

CASE(malloc_trim_returns_the_pages_of_large_blocks)
{
	CHECK_EQ(mallopt(M_MMAP_MAX, 0), 1);
	CHECK(fall_after_trim(KF_MIB_BYTES, 24) > 20 * KF_MIB_BYTES);
}

CASE(malloc_trim_returns_pages_between_live_blocks)
{
	size_t peak;

	for (int i = 0; i < 200; i++) {
		block[i] = malloc(120000);
		CHECK(block[i]);
		kf_fill(block[i], 120000, i);
	}
	peak = kf_resident();
	for (int i = 0; i < 200; i += 2)
		free(block[i]);
	CHECK_EQ(malloc_trim(0), 1);
	CHECK(kf_resident() + 8 * KF_MIB_BYTES < peak);
	for (int i = 1; i < 200; i += 2)
		CHECK(kf_filled(block[i], 120000, i));
}

static void *churn(void *arg)
{
	fill_and_free(1000, NR_BLOCKS);
	return arg;
}

CASE(malloc_trim_returns_what_another_thread_left)
{
	size_t before = kf_resident();

	kf_in_thread(churn, NULL);
	CHECK_EQ(malloc_trim(0), 1);
	CHECK(kf_resident() < before + 4 * KF_MIB_BYTES);
}

CASE(malloc_trim_of_a_trimmed_heap_returns_0)
{
	int left = 5;

	fill_and_free(1000, 4000);
	while (malloc_trim(0))
		CHECK(--left);
	CHECK_EQ(malloc_trim(0), 0);
}

CASE(malloc_works_after_malloc_trim)
{
	for (int round = 0; round < 5; round++) {
		fill_and_free(100 + 300 * (size_t)round, 4000);
		malloc_trim(0);
		fill_and_free(50000, 100);
		malloc_trim(kf_size(1 << 20));
	}
}

CASE(mallopt_returns_1_for_every_known_parameter)
{
	CHECK_EQ(mallopt(M_MXFAST, 64), 1);
	CHECK_EQ(mallopt(M_MXFAST, 0), 1);
	CHECK_EQ(mallopt(M_MXFAST, 80 * sizeof(size_t) / 4), 1);
	CHECK_EQ(mallopt(M_TRIM_THRESHOLD, 1 << 20), 1);
	CHECK_EQ(mallopt(M_TOP_PAD, 1 << 16), 1);
	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
	CHECK_EQ(mallopt(M_MMAP_MAX, 1000), 1);
	CHECK_EQ(mallopt(M_CHECK_ACTION, 3), 1);
	CHECK_EQ(mallopt(M_PERTURB, 0), 1);
	CHECK_EQ(mallopt(M_ARENA_TEST, 4), 1);
	CHECK_EQ(mallopt(M_ARENA_MAX, 4), 1);
	fill_and_free(1000, 1000);
	fill_and_free(2000000, 4);
}

CASE(mallopt_returns_1_for_unknown_parameters)
{
	CHECK_EQ(mallopt(12345, 1), 1);
	CHECK_EQ(mallopt(-12345, 0), 1);
	CHECK_EQ(mallopt(0, 0), 1);
}

CASE(mallopt_returns_0_for_bad_values)
{
	CHECK_EQ(mallopt(M_MXFAST, 80 * sizeof(size_t) / 4 + 1), 0);
	CHECK_EQ(mallopt(M_MXFAST, -1), 0);
	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 32 << 20), 1);
}

CASE(mallopt_mmap_threshold_decides_what_is_mapped)
{
	size_t before, n = 3 * KF_MIB_BYTES;
	void *p;

	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
	before = mallinfo2().hblks;
	p = malloc(n);
	CHECK_EQ(mallinfo2().hblks, before + 1);
	free(p);
	CHECK_EQ(mallinfo2().hblks, before);
	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 8 << 20), 1);
	p = malloc(n);
	CHECK_EQ(mallinfo2().hblks, before);
	free(p);
}

CASE(mallopt_mmap_max_0_maps_no_block)
{
	void *p;

	CHECK_EQ(mallopt(M_MMAP_MAX, 0), 1);
	p = malloc(20 * KF_MIB_BYTES);
	CHECK(p);
	CHECK_EQ(mallinfo2().hblks, 0);
	CHECK_EQ(mallinfo2().hblkhd, 0);
	free(p);
}

CASE(mmap_threshold_follows_freed_mapped_blocks)
{
	size_t n = 4 * KF_MIB_BYTES;
	void *p = malloc(n);

	CHECK(p);
	CHECK_EQ(mallinfo2().hblks, 1);
	free(p);
	p = malloc(n);
	CHECK(p);
	CHECK_EQ(mallinfo2().hblks, 0);
	free(p);
}

CASE(a_freed_mapped_block_over_32_mib_leaves_the_threshold)
{
	size_t n = 4 * KF_MIB_BYTES;
	void *p;

	free(malloc(40 * KF_MIB_BYTES));
	p = malloc(n);
	CHECK(p);
	CHECK_EQ(mallinfo2().hblks, 1);
	free(p);
}

static void check_parameter_fixes_threshold(int parameter, int value)
{
	size_t n = 4 * KF_MIB_BYTES;

	CHECK_EQ(mallopt(parameter, value), 1);
	for (int i = 0; i < 3; i++) {
		void *p = malloc(n);

		CHECK(p);
		CHECK_EQ(mallinfo2().hblks, 1);
		free(p);
	}
}

CASE(mallopt_trim_threshold_fixes_the_mmap_threshold)
{
	check_parameter_fixes_threshold(M_TRIM_THRESHOLD, 128 << 10);
}

CASE(mallopt_top_pad_fixes_the_mmap_threshold)
{
	check_parameter_fixes_threshold(M_TOP_PAD, 0);
}

CASE(mallopt_mmap_threshold_fixes_itself)
{
	check_parameter_fixes_threshold(M_MMAP_THRESHOLD, 128 << 10);
}

CASE(mallopt_mmap_max_fixes_the_mmap_threshold)
{
	check_parameter_fixes_threshold(M_MMAP_MAX, 65536);
}

CASE(mallopt_perturb_fills_new_blocks_but_not_those_of_calloc)
{
	CHECK_EQ(mallopt(M_PERTURB, 0x5a), 1);
	for (size_t n = 1; n < 100000; n += 1 + n / 4) {
		char *p = malloc(n), *z = calloc(1, n);

		CHECK(p && z);
		CHECK(kf_all(p, n, 0xa5));
		CHECK(kf_all(z, n, 0));
		free(p);
		free(z);
	}
}
