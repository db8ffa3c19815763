/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What glibc does where the C library's words leave a choice, for each
 * function of the malloc family: 22 cases, the same for every engine.
 */
#include "tests/conformance/case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define HUGE ((size_t)1 << 48)

/* A call that has to give NULL with this errno. */
#define REFUSED(call, error)              \
	do {                              \
		errno = 0;                \
		CHECK(!kf_ptr(call));     \
		CHECK_EQ(errno, (error)); \
	} while (0)

static void is_block(void *p, size_t align)
{
	CHECK(p);
	CHECK_EQ((uintptr_t)p % align, 0);
	memset(p, 1, malloc_usable_size(p));
	free(p);
}

CASE(malloc_of_0_is_a_block)
{
	void *p = malloc(kf_size(0)), *q = malloc(kf_size(0));

	CHECK(p != q);
	is_block(p, 8);
	is_block(q, 8);
}

CASE(malloc_of_too_much_is_enomem)
{
	REFUSED(malloc(kf_size(HUGE)), ENOMEM);
	REFUSED(malloc(kf_size(SIZE_MAX)), ENOMEM);
	REFUSED(malloc(kf_size(PTRDIFF_MAX)), ENOMEM);
}

CASE(free_of_null_does_nothing)
{
	errno = EXDEV;
	free(kf_ptr(NULL));
	CHECK_EQ(errno, EXDEV);
}

CASE(free_keeps_errno)
{
	void *p = malloc(100), *q = malloc(1000000);

	errno = EXDEV;
	free(p);
	free(q);
	CHECK_EQ(errno, EXDEV);
}

CASE(calloc_of_0_times_0_is_a_block)
{
	is_block(calloc(kf_size(0), kf_size(0)), 8);
	is_block(calloc(kf_size(0), kf_size(8)), 8);
	is_block(calloc(kf_size(8), kf_size(0)), 8);
}

CASE(calloc_that_overflows_is_enomem)
{
	REFUSED(calloc(kf_size(SIZE_MAX), kf_size(2)), ENOMEM);
	REFUSED(calloc(kf_size((size_t)1 << 32), kf_size((size_t)1 << 32)),
		ENOMEM);
}

CASE(calloc_of_too_much_is_enomem)
{
	REFUSED(calloc(kf_size(1), kf_size(HUGE)), ENOMEM);
}

CASE(realloc_of_null_is_malloc)
{
	is_block(realloc(kf_ptr(NULL), kf_size(100)), 8);
}

CASE(realloc_of_null_to_0_is_a_block)
{
	is_block(realloc(kf_ptr(NULL), kf_size(0)), 8);
}

CASE(realloc_to_0_frees)
{
	CHECK(!kf_ptr(realloc(malloc(100), kf_size(0))));
}

CASE(realloc_to_too_much_is_enomem_and_keeps_the_block)
{
	char *p = malloc(100);

	kf_fill(p, 100, 1);
	REFUSED(realloc(p, kf_size(HUGE)), ENOMEM);
	REFUSED(realloc(p, kf_size(SIZE_MAX)), ENOMEM);
	CHECK(kf_filled(p, 100, 1));
	free(p);
}

CASE(posix_memalign_of_a_bad_alignment_is_einval)
{
	static const size_t bad[] = {0, 1, 2, 4, 7, 24, 100};
	void *p = &p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(posix_memalign(&p, kf_size(bad[i]), 100), EINVAL);
		CHECK(p == &p);
	}
}

CASE(posix_memalign_of_0_bytes_is_a_block)
{
	void *p = NULL;

	CHECK_EQ(posix_memalign(&p, 64, kf_size(0)), 0);
	is_block(p, 64);
}

CASE(posix_memalign_of_too_much_is_enomem)
{
	void *p = &p;

	CHECK_EQ(posix_memalign(&p, 64, kf_size(HUGE)), ENOMEM);
	CHECK_EQ(posix_memalign(&p, PAGE, kf_size(SIZE_MAX)), ENOMEM);
	CHECK(p == &p);
}

CASE(aligned_alloc_of_0_bytes_is_a_block)
{
	is_block(aligned_alloc(64, kf_size(0)), 64);
}

CASE(aligned_alloc_to_less_than_a_pointer_is_a_block)
{
	is_block(aligned_alloc(kf_size(4), 16), 4);
}

CASE(aligned_alloc_of_too_much_is_enomem)
{
	REFUSED(aligned_alloc(64, kf_size(HUGE)), ENOMEM);
}

CASE(memalign_rounds_the_alignment_up)
{
	is_block(memalign(kf_size(24), 100), 32);
	is_block(memalign(kf_size(0), 100), 8);
}

CASE(memalign_of_too_much_is_enomem)
{
	REFUSED(memalign(64, kf_size(HUGE)), ENOMEM);
	REFUSED(memalign(64, kf_size(SIZE_MAX - 10)), ENOMEM);
}

CASE(valloc_is_aligned_to_a_page)
{
	is_block(valloc(kf_size(0)), PAGE);
	is_block(valloc(kf_size(5000)), PAGE);
	REFUSED(valloc(kf_size(SIZE_MAX)), ENOMEM);
}

CASE(pvalloc_is_whole_pages)
{
	void *p = pvalloc(kf_size(PAGE + 1));

	CHECK(malloc_usable_size(p) >= 2 * PAGE);
	is_block(p, PAGE);
	is_block(pvalloc(kf_size(0)), PAGE);
	REFUSED(pvalloc(kf_size(SIZE_MAX)), ENOMEM);
}

CASE(usable_size_of_null_is_0)
{
	CHECK_EQ(malloc_usable_size(kf_ptr(NULL)), 0);
}
