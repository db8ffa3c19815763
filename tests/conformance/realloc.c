/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * realloc: NULL, size 0, failure, contents, when a block may move.
 */
#include "case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

CASE(realloc_of_null_is_malloc)
{
	for (size_t n = 0; n < 4 * KF_MIB_BYTES; n += 1 + n / 3) {
		void *p;

		errno = EXDEV;
		p = realloc(NULL, n);
		CHECK(p);
		CHECK_EQ((uintptr_t)p % 16, 0);
		CHECK(malloc_usable_size(p) >= n);
		CHECK_EQ(errno, EXDEV);
		free(p);
	}
}

CASE(realloc_to_0_frees_and_returns_null)
{
	size_t before, sizes[] = {1, 1000, 30000, 200000, 2000000};

	for (int i = 0; i < 5; i++)
		CHECK(!realloc(malloc(sizes[i]), kf_size(0)));
	/* That it frees: a gigabyte goes through. */
	before = kf_resident();
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(KF_MIB_BYTES);

		CHECK(p);
		memset(p, 1, KF_MIB_BYTES);
		CHECK(!realloc(p, kf_size(0)));
	}
	CHECK(kf_resident() < before + 64 * KF_MIB_BYTES);
}

CASE(realloc_of_null_to_0_is_a_block)
{
	void *p = realloc(NULL, kf_size(0));

	CHECK(p);
	free(p);
}

static void check_failure_keeps(size_t n, size_t want)
{
	unsigned char *p = malloc(n);

	CHECK(p);
	kf_fill(p, n, 5);
	errno = 0;
	CHECK(!realloc(p, kf_size(want)));
	CHECK_EQ(errno, ENOMEM);
	CHECK(kf_filled(p, n, 5));
	CHECK(malloc_usable_size(p) >= n);
	free(p);
}

CASE(realloc_failure_is_enomem_and_leaves_the_block)
{
	size_t sizes[] = {1, 1000, 30000, 200000, 2000000};

	for (int i = 0; i < 5; i++) {
		check_failure_keeps(sizes[i], SIZE_MAX);
		check_failure_keeps(sizes[i], (size_t)PTRDIFF_MAX + 1);
		check_failure_keeps(sizes[i], PTRDIFF_MAX);
		check_failure_keeps(sizes[i], 1ul << 48);
	}
}

CASE(realloc_failure_under_rlimit_as_leaves_the_block)
{
	struct rlimit limit = {512 * KF_MIB_BYTES, 512 * KF_MIB_BYTES};

	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	check_failure_keeps(1000, 600 * KF_MIB_BYTES);
	check_failure_keeps(100000, 600 * KF_MIB_BYTES);
	check_failure_keeps(10000000, 600 * KF_MIB_BYTES);
}

CASE(realloc_to_the_usable_size_does_not_move)
{
	for (size_t n = 1; n < 8 * KF_MIB_BYTES; n += 1 + n / 5) {
		char *p = malloc(n);
		size_t usable = malloc_usable_size(p);

		kf_fill(p, n, 1);
		CHECK_EQ((uintptr_t)realloc(p, usable), (uintptr_t)p);
		CHECK_EQ((uintptr_t)realloc(p, n), (uintptr_t)p);
		CHECK(kf_filled(p, n, 1));
		free(p);
	}
}

CASE(realloc_keeps_the_contents_between_all_sizes)
{
	static const size_t sizes[] = {
		1,	16,	 17,	  100,	   1000,    1024,   1025,
		4096,	9000,	 32768,	  32769,   60000,   131072, 140000,
		300000, 1 << 20, 3 << 20, 9 << 20, 40 << 20};
	const int nr = sizeof(sizes) / sizeof(sizes[0]);

	for (int a = 0; a < nr; a++) {
		for (int b = 0; b < nr; b++) {
			size_t least =
				sizes[a] < sizes[b] ? sizes[a] : sizes[b];
			unsigned char *p = malloc(sizes[a]);

			if (least > 1 << 20)
				least = 1 << 20;
			CHECK(p);
			kf_fill(p, least, a + b);
			errno = EXDEV;
			p = realloc(p, sizes[b]);
			CHECK(p);
			CHECK_EQ(errno, EXDEV);
			CHECK_EQ((uintptr_t)p % 16, 0);
			CHECK(kf_filled(p, least, a + b));
			CHECK(malloc_usable_size(p) >= sizes[b]);
			free(p);
		}
	}
}

CASE(realloc_of_a_mapped_block_keeps_the_last_byte)
{
	unsigned char *p;

	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 128 << 10), 1);
	p = malloc(200000);
	CHECK(p);
	kf_fill(p, 200000, 1);
	for (size_t n = 300000; n < 100 * KF_MIB_BYTES; n *= 2) {
		p = realloc(p, n);
		CHECK(p && kf_filled(p, 200000, 1));
		p[n - 1] = 77;
		p = realloc(p, n + 1);
		CHECK(p);
		CHECK_EQ(p[n - 1], 77);
	}
	p = realloc(p, 200000);
	CHECK(p && kf_filled(p, 200000, 1));
	free(p);
}

CASE(realloc_of_aligned_blocks_keeps_contents)
{
	for (size_t align = 16; align <= 4 * KF_MIB_BYTES; align *= 2) {
		for (size_t n = 1; n < 3 * KF_MIB_BYTES; n = n * 5 + 3) {
			unsigned char *p = memalign(align, n), *q;
			size_t least;

			CHECK(p);
			CHECK_EQ((uintptr_t)p % align, 0);
			kf_fill(p, n, 1);
			q = realloc(p, 2 * n + 100);
			CHECK(q && kf_filled(q, n, 1));
			kf_fill(q, 2 * n + 100, 2);
			least = n / 2 + 1;
			p = realloc(q, least);
			CHECK(p && kf_filled(p, least, 2));
			free(p);
		}
	}
}

CASE(vectors_that_grow_in_turn_keep_their_contents)
{
	unsigned char *p[16] = {0};
	size_t n = 16;

	for (int step = 0; step < 60; step++) {
		size_t more = n + n / 4 + 16;

		for (int i = 0; i < 16; i++) {
			p[i] = realloc(p[i], more);
			CHECK(p[i]);
			if (step)
				CHECK(kf_filled(p[i], n < 5000 ? n : 5000, i));
			kf_fill(p[i], more < 5000 ? more : 5000, i);
		}
		n = more;
		if (n > 8 * KF_MIB_BYTES)
			break;
	}
	for (int i = 0; i < 16; i++)
		free(p[i]);
}

CASE(shrinking_a_large_block_gives_its_pages_back)
{
	size_t before = kf_resident();
	char *p[16];

	for (int i = 0; i < 16; i++) {
		p[i] = malloc(16 * KF_MIB_BYTES);
		CHECK(p[i]);
		memset(p[i], 1, 16 * KF_MIB_BYTES);
		p[i] = realloc(p[i], 100);
		CHECK(p[i] && kf_all(p[i], 100, 1));
	}
	malloc_trim(0);
	CHECK(kf_resident() < before + 64 * KF_MIB_BYTES);
}
