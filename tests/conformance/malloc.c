/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc: alignment, sizes 0 and impossible, errno, blocks of their own.
 */
#include "case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

CASE(errno_is_0_at_main)
{
	CHECK_EQ(errno, 0);
}

CASE(malloc_is_16_byte_aligned_for_every_size)
{
	for (size_t n = 0; n < 4 * KF_MIB_BYTES; n += n < 5000 ? 1 : n / 7) {
		void *p = malloc(n);

		CHECK(p);
		CHECK_EQ((uintptr_t)p % 16, 0);
		CHECK(malloc_usable_size(p) >= n);
		free(p);
	}
}

CASE(live_small_blocks_stay_16_byte_aligned)
{
	void *p[2048];

	for (size_t n = 0; n < 2048; n++) {
		p[n] = malloc(n);
		CHECK(p[n]);
		CHECK_EQ((uintptr_t)p[n] % 16, 0);
	}
	for (size_t n = 0; n < 2048; n++)
		free(p[n]);
}

static void check_impossible(size_t n)
{
	errno = 0;
	CHECK(!malloc(n));
	CHECK_EQ(errno, ENOMEM);
}

CASE(malloc_over_ptrdiff_max_is_enomem)
{
	check_impossible(kf_size((size_t)PTRDIFF_MAX + 1));
	check_impossible(kf_size(SIZE_MAX));
	for (size_t below = 1; below; below <<= 1)
		check_impossible(kf_size(SIZE_MAX - below / 2));
}

CASE(malloc_of_ptrdiff_max_and_a_little_less_is_enomem)
{
	for (size_t below = 0; below < 3 * KF_PAGE; below += 8)
		check_impossible(kf_size((size_t)PTRDIFF_MAX - below));
}

CASE(malloc_of_2_to_the_48_is_enomem)
{
	check_impossible(kf_size(1ul << 48));
	check_impossible(kf_size(1ul << 52));
	check_impossible(kf_size(1ul << 62));
}

CASE(malloc_works_after_an_impossible_one)
{
	char *p;

	check_impossible(kf_size(SIZE_MAX));
	p = malloc(100);
	CHECK(p);
	memset(p, 1, 100);
	free(p);
}

CASE(malloc_0_is_unique_and_freeable)
{
	void *p[100];

	for (int i = 0; i < 100; i++) {
		p[i] = malloc(kf_size(0));
		CHECK(p[i]);
		for (int k = 0; k < i; k++)
			CHECK(p[k] != p[i]);
	}
	for (int i = 0; i < 100; i++)
		free(p[i]);
}

CASE(malloc_keeps_errno_on_success)
{
	for (size_t n = 0; n < 64 * KF_MIB_BYTES; n += 1 + n / 3) {
		void *p;

		errno = EXDEV;
		p = malloc(n);
		CHECK(p);
		CHECK_EQ(errno, EXDEV);
		free(p);
		CHECK_EQ(errno, EXDEV);
	}
}

CASE(first_malloc_of_a_process_keeps_errno)
{
	void *p;

	errno = EXDEV;
	p = malloc(1);
	CHECK_EQ(errno, EXDEV);
	free(p);
	errno = 0;
	p = malloc(8 * KF_MIB_BYTES);
	CHECK_EQ(errno, 0);
	free(p);
}

struct block {
	unsigned char *p;
	size_t n;
	unsigned int seed;
};

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

static size_t random_size(unsigned int *state)
{
	unsigned int r = next_random(state);

	switch (r % 16) {
	case 0:
		return next_random(state) % 300000;
	case 1:
	case 2:
		return next_random(state) % 40000;
	default:
		return next_random(state) % 1200;
	}
}

CASE(live_blocks_never_overlap)
{
	static struct block live[1000];
	unsigned int state = 1;

	for (unsigned int step = 0; step < 30000; step++) {
		struct block *b = &live[next_random(&state) % 1000];

		if (b->p) {
			CHECK(kf_filled(b->p, b->n, b->seed));
			free(b->p);
		}
		b->n = random_size(&state);
		b->seed = step;
		b->p = malloc(b->n);
		CHECK(b->p);
		b->n = malloc_usable_size(b->p);
		kf_fill(b->p, b->n, b->seed);
	}
	for (int i = 0; i < 1000; i++) {
		if (live[i].p)
			CHECK(kf_filled(live[i].p, live[i].n, live[i].seed));
		free(live[i].p);
	}
}

CASE(a_freed_block_is_used_again)
{
	size_t before = 0;

	/* A gigabyte in all, of which one kilobyte is live at a time. */
	for (int i = 0; i < 1 << 20; i++) {
		char *p = malloc(1024);

		CHECK(p);
		p[0] = p[1023] = 1;
		free(p);
		if (i == 1000)
			before = kf_resident();
	}
	CHECK(kf_resident() < before + 8 * KF_MIB_BYTES);
}

CASE(untouched_large_block_costs_no_memory)
{
	size_t before = kf_resident();
	char *p = malloc(512 * KF_MIB_BYTES);

	if (!p)
		kf_case_skip("this machine refuses 512 MiB");
	p[0] = 1;
	CHECK(kf_resident() < before + 16 * KF_MIB_BYTES);
	free(p);
}

CASE(heap_is_not_executable)
{
	static char maps[1 << 16];
	char *p = malloc(100), *q = malloc(8 * KF_MIB_BYTES);

	CHECK(p && q);
	CHECK(kf_read_file("/proc/self/maps", maps, sizeof(maps)) > 0);
	CHECK(!strstr(maps, "rwx"));
	free(p);
	free(q);
}
