/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * calloc and reallocarray: products that overflow, and zeroes everywhere.
 */
#include "case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void check_calloc_refuses(size_t nr, size_t size)
{
	errno = 0;
	CHECK(!calloc(kf_size(nr), kf_size(size)));
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(!calloc(kf_size(size), kf_size(nr)));
	CHECK_EQ(errno, ENOMEM);
}

CASE(calloc_that_overflows_is_enomem)
{
	check_calloc_refuses(SIZE_MAX, 2);
	check_calloc_refuses(SIZE_MAX / 2 + 1, 2);
	check_calloc_refuses(SIZE_MAX / 2 + 2, 2);
	check_calloc_refuses(1ul << 33, 1ul << 33);
	check_calloc_refuses((1ul << 32) + 1, 1ul << 32);
	check_calloc_refuses(SIZE_MAX, SIZE_MAX);
	check_calloc_refuses(SIZE_MAX / 16 + 2, 16);
}

CASE(calloc_over_ptrdiff_max_is_enomem)
{
	check_calloc_refuses((size_t)PTRDIFF_MAX + 1, 1);
	check_calloc_refuses(SIZE_MAX, 1);
	check_calloc_refuses(1ul << 32, 1ul << 31);
}

CASE(calloc_0_is_unique_and_freeable)
{
	void *p[] = {calloc(kf_size(0), 8), calloc(8, kf_size(0)),
		     calloc(kf_size(0), 0), calloc(kf_size(0), SIZE_MAX)};

	for (int i = 0; i < 4; i++) {
		CHECK(p[i]);
		for (int k = 0; k < i; k++)
			CHECK(p[k] != p[i]);
	}
	for (int i = 0; i < 4; i++)
		free(p[i]);
}

CASE(calloc_keeps_errno_on_success)
{
	for (size_t n = 0; n < 32 * KF_MIB_BYTES; n += 1 + n / 3) {
		void *p;

		errno = EXDEV;
		p = calloc(n, 1);
		CHECK(p);
		CHECK_EQ(errno, EXDEV);
		free(p);
	}
}

static void dirty(size_t n)
{
	void *p[8];

	for (int i = 0; i < 8; i++) {
		p[i] = malloc(n);
		CHECK(p[i]);
		memset(p[i], 0xa5, malloc_usable_size(p[i]));
	}
	for (int i = 0; i < 8; i++)
		free(p[i]);
}

CASE(calloc_zeroes_the_whole_usable_size_of_used_memory)
{
	for (size_t n = 1; n < 2 * KF_MIB_BYTES; n += n < 2100 ? 1 : n / 9) {
		void *p[8];

		dirty(n);
		for (int i = 0; i < 8; i++) {
			p[i] = calloc(1, n);
			CHECK(p[i]);
			CHECK(kf_all(p[i], malloc_usable_size(p[i]), 0));
		}
		for (int i = 0; i < 8; i++)
			free(p[i]);
	}
}

CASE(calloc_zeroes_merged_and_split_memory)
{
	static char *p[200];

	for (int i = 0; i < 200; i++) {
		p[i] = malloc(50000 + 3000 * (size_t)(i % 7));
		CHECK(p[i]);
		memset(p[i], 0x5a, malloc_usable_size(p[i]));
	}
	for (int i = 0; i < 200; i += 1 + (i % 5 == 0))
		free(p[i]), p[i] = NULL;
	for (int i = 0; i < 100; i++) {
		size_t n = 1000 * (size_t)(1 + i * 7 % 90);
		char *z = calloc(n, 1);

		CHECK(z);
		CHECK(kf_all(z, malloc_usable_size(z), 0));
		memset(z, 0x5a, n);
		if (i % 3)
			free(z);
	}
}

CASE(calloc_zeroes_after_malloc_trim)
{
	for (int round = 0; round < 3; round++) {
		char *p;

		dirty(70000);
		dirty(300);
		malloc_trim(0);
		p = calloc(70000, 1);
		CHECK(p && kf_all(p, malloc_usable_size(p), 0));
		free(p);
		p = calloc(300, 1);
		CHECK(p && kf_all(p, malloc_usable_size(p), 0));
		free(p);
	}
}

CASE(reallocarray_that_overflows_is_enomem_and_keeps_the_block)
{
	char *p = malloc(1000);

	CHECK(p);
	kf_fill(p, 1000, 3);
	errno = 0;
	CHECK(!reallocarray(p, kf_size(SIZE_MAX), 2));
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(!reallocarray(p, kf_size(1ul << 33), 1ul << 33));
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(!reallocarray(p, 2, kf_size(SIZE_MAX / 2 + 1)));
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(!reallocarray(p, 1, kf_size((size_t)PTRDIFF_MAX + 1)));
	CHECK_EQ(errno, ENOMEM);
	CHECK(kf_filled(p, 1000, 3));
	free(p);
}

CASE(reallocarray_grows_and_keeps_the_contents)
{
	char *p = reallocarray(NULL, 10, 10);

	CHECK(p);
	kf_fill(p, 100, 9);
	errno = EXDEV;
	p = reallocarray(p, 1000, 1000);
	CHECK(p && kf_filled(p, 100, 9));
	CHECK(malloc_usable_size(p) >= 1000000);
	CHECK_EQ(errno, EXDEV);
	free(p);
}

CASE(reallocarray_to_0_frees_and_returns_null)
{
	CHECK(!reallocarray(malloc(100), kf_size(0), 10));
	CHECK(!reallocarray(malloc(100), 10, kf_size(0)));
	CHECK(!reallocarray(malloc(1 << 20), kf_size(0), SIZE_MAX));
}
