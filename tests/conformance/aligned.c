/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * aligned_alloc, memalign, posix_memalign, valloc, pvalloc, and how much of a
 * block may be used.
 */
#include "case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNTOUCHED ((void *)0x5a5a)

static void check_block(void *p, size_t align, size_t n)
{
	CHECK(p);
	CHECK_EQ((uintptr_t)p % align, 0);
	CHECK(malloc_usable_size(p) >= n);
	memset(p, 0x11, n);
}

CASE(aligned_alloc_of_no_power_of_two_is_einval)
{
	static const size_t bad[] = {0, 3, 5, 6, 7, 9, 24, 48, 100, 4095, 4097};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		CHECK(!aligned_alloc(kf_size(bad[i]), 100));
		CHECK_EQ(errno, EINVAL);
	}
}

CASE(aligned_alloc_takes_a_size_that_is_no_multiple)
{
	for (size_t align = 1; align <= 64 * KF_PAGE; align *= 2) {
		void *p;

		errno = EXDEV;
		p = aligned_alloc(align, kf_size(align + 1));
		check_block(p, align, align + 1);
		free(p);
		p = aligned_alloc(align, kf_size(1));
		check_block(p, align, 1);
		free(p);
		CHECK_EQ(errno, EXDEV);
	}
}

CASE(aligned_alloc_of_0_bytes_is_a_block)
{
	void *p = aligned_alloc(64, kf_size(0));

	CHECK(p);
	CHECK_EQ((uintptr_t)p % 64, 0);
	free(p);
}

static void check_memalign_fails(size_t align, size_t n, int error)
{
	errno = 0;
	CHECK(!memalign(kf_size(align), kf_size(n)));
	CHECK_EQ(errno, error);
}

CASE(aligned_alloc_too_large_is_enomem)
{
	for (size_t align = 16; align <= KF_MIB_BYTES; align *= 2) {
		errno = 0;
		CHECK(!aligned_alloc(align, kf_size(SIZE_MAX - align + 1)));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!aligned_alloc(align, kf_size(PTRDIFF_MAX)));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!aligned_alloc(align, kf_size(SIZE_MAX)));
		CHECK_EQ(errno, ENOMEM);
	}
}

CASE(memalign_gives_every_alignment_at_every_size)
{
	for (size_t align = 1; align <= 8 * KF_MIB_BYTES; align *= 2) {
		for (size_t n = 0; n < 5 * KF_MIB_BYTES; n = n * 3 + 1) {
			void *p, *q;

			errno = EXDEV;
			p = memalign(align, n);
			q = memalign(align, n);
			CHECK_EQ(errno, EXDEV);
			CHECK(p != q);
			check_block(p, align > 16 ? align : 16, n);
			check_block(q, align > 16 ? align : 16, n);
			free(p);
			free(q);
		}
	}
}

CASE(memalign_of_no_power_of_two_rounds_up)
{
	static const size_t odd[] = {0, 3, 17, 24, 33, 48, 100, 1000, 5000};
	static const size_t up[] = {1, 4, 32, 32, 64, 64, 128, 1024, 8192};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		void *p[20];

		for (int k = 0; k < 20; k++) {
			p[k] = memalign(kf_size(odd[i]), 100);
			check_block(p[k], up[i], 100);
		}
		for (int k = 0; k < 20; k++)
			free(p[k]);
	}
}

CASE(memalign_to_more_than_half_the_address_space_is_einval)
{
	check_memalign_fails(SIZE_MAX / 2 + 2, 1, EINVAL);
	check_memalign_fails(SIZE_MAX, 1, EINVAL);
	check_memalign_fails(SIZE_MAX - 1, 100, EINVAL);
}

CASE(memalign_too_large_is_enomem)
{
	check_memalign_fails(SIZE_MAX / 2 + 1, 1, ENOMEM);
	check_memalign_fails(1ul << 62, 1, ENOMEM);
	check_memalign_fails(1ul << 62, 1ul << 62, ENOMEM);
	check_memalign_fails(64, SIZE_MAX, ENOMEM);
	check_memalign_fails(64, SIZE_MAX - 63, ENOMEM);
	check_memalign_fails(KF_PAGE, (size_t)PTRDIFF_MAX - KF_PAGE, ENOMEM);
	check_memalign_fails(1ul << 47, 1ul << 47, ENOMEM);
}

CASE(memalign_by_a_gigabyte_works)
{
	void *p = memalign(1ul << 30, 1), *q = memalign(1ul << 30, 100000);

	check_block(p, 1ul << 30, 1);
	check_block(q, 1ul << 30, 100000);
	free(p);
	free(q);
}

static void check_posix_memalign_fails(size_t align, size_t n, int error)
{
	void *p = UNTOUCHED;

	errno = EXDEV;
	CHECK_EQ(posix_memalign(&p, kf_size(align), kf_size(n)), error);
	CHECK_EQ((uintptr_t)p, (uintptr_t)UNTOUCHED);
	CHECK_EQ(errno, error == ENOMEM ? ENOMEM : EXDEV);
}

CASE(posix_memalign_of_bad_alignment_returns_einval_and_touches_nothing)
{
	static const size_t bad[] = {0,	 1,  2,	 3,   4,    7,	  12,
				     24, 40, 48, 100, 4095, 4097, SIZE_MAX};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_posix_memalign_fails(bad[i], 100, EINVAL);
		check_posix_memalign_fails(bad[i], 0, EINVAL);
	}
}

CASE(posix_memalign_too_large_returns_enomem_and_leaves_it_in_errno)
{
	check_posix_memalign_fails(8, SIZE_MAX, ENOMEM);
	check_posix_memalign_fails(64, SIZE_MAX - 64, ENOMEM);
	check_posix_memalign_fails(KF_PAGE, PTRDIFF_MAX, ENOMEM);
	check_posix_memalign_fails(KF_PAGE, (size_t)PTRDIFF_MAX + 1, ENOMEM);
	check_posix_memalign_fails(1ul << 63, 1, ENOMEM);
	check_posix_memalign_fails(64, 1ul << 48, ENOMEM);
}

CASE(posix_memalign_gives_every_alignment_and_keeps_errno)
{
	for (size_t align = 8; align <= 4 * KF_MIB_BYTES; align *= 2) {
		for (size_t n = 0; n < 3 * KF_MIB_BYTES; n = n * 5 + 1) {
			void *p = UNTOUCHED;

			errno = EXDEV;
			CHECK_EQ(posix_memalign(&p, align, n), 0);
			CHECK_EQ(errno, EXDEV);
			check_block(p, align, n);
			free(p);
		}
	}
}

CASE(posix_memalign_of_0_bytes_is_a_block)
{
	void *p = NULL, *q = NULL;

	CHECK_EQ(posix_memalign(&p, 64, kf_size(0)), 0);
	CHECK_EQ(posix_memalign(&q, 64, kf_size(0)), 0);
	CHECK(p && q && p != q);
	free(p);
	free(q);
}

CASE(valloc_is_page_aligned)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t n = 0; n < 3 * KF_MIB_BYTES; n = n * 3 + 1) {
		void *p = valloc(n);

		check_block(p, page, n);
		free(p);
	}
}

CASE(pvalloc_is_page_aligned_and_rounds_up_to_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t n = 1; n < 3 * KF_MIB_BYTES; n = n * 3 + 1) {
		void *p = pvalloc(n);

		check_block(p, page, (n + page - 1) / page * page);
		free(p);
	}
	free(pvalloc(kf_size(0)));
}

CASE(usable_size_of_pvalloc_1_is_a_page_or_more)
{
	void *p = pvalloc(1);

	CHECK(p);
	CHECK(malloc_usable_size(p) >= (size_t)sysconf(_SC_PAGESIZE));
	free(p);
}

CASE(valloc_and_pvalloc_that_overflow_are_enomem)
{
	for (size_t below = 0; below < 2 * KF_PAGE; below += 255) {
		errno = 0;
		CHECK(!valloc(kf_size(SIZE_MAX - below)));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!pvalloc(kf_size(SIZE_MAX - below)));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!pvalloc(kf_size((size_t)PTRDIFF_MAX - below)));
		CHECK_EQ(errno, ENOMEM);
	}
}

CASE(usable_size_of_null_is_0)
{
	errno = EXDEV;
	CHECK_EQ(malloc_usable_size(kf_ptr(NULL)), 0);
	CHECK_EQ(errno, EXDEV);
}

/* Two neighbours of every kind, every byte of both written. */
CASE(every_byte_of_the_usable_size_may_be_used)
{
	for (size_t n = 0; n < 2 * KF_MIB_BYTES; n += 1 + n / 4) {
		void *p[12];
		size_t usable[12];

		for (int i = 0; i < 12; i += 4) {
			p[i] = malloc(n);
			p[i + 1] = calloc(1, n);
			p[i + 2] = memalign(16u << i, n);
			p[i + 3] = realloc(malloc(1), n + 1);
		}
		for (int i = 0; i < 12; i++) {
			CHECK(p[i]);
			usable[i] = malloc_usable_size(p[i]);
			CHECK(usable[i] >= n);
			kf_fill(p[i], usable[i], i);
		}
		for (int i = 0; i < 12; i++) {
			CHECK(kf_filled(p[i], usable[i], i));
			CHECK_EQ(malloc_usable_size(p[i]), usable[i]);
			free(p[i]);
		}
	}
}
