/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every engine has to do, seen from the C library's names: blocks that
 * can be used as they should, in nine cases, and what glibc does with sizes
 * and alignments that need a decision, in 22. Further cases are of what the
 * library keeps for engines: early blocks, forks, windows on the heap.
 *
 * Each case holds under glibc's malloc as well, and the script runs it there.
 */
#include "tests/conformance/case.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096
#define NR_RANDOM 1000
#define NR_IDS 10000

static const size_t sizes[] = {1, 15, 123, PAGE, 0x12345};
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const size_t pairs[][2] = {
	{1, 15},       {15, 123},      {123, 1},
	{100, 0x5000}, {0x5000, 4000}, {0x12345, 0x54321},
};
#define NR_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void *early[NR_SIZES];

/* Before any constructor, and so before an engine that comes late. */
static void be_early(void)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		early[i] = malloc(sizes[i]);
		if (early[i])
			memset(early[i], 0x5e, sizes[i]);
	}
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const at_first)(void) = be_early;

CASE(block_of_each_size_can_be_used_and_freed)
{
	void *p[NR_SIZES];

	for (size_t i = 0; i < NR_SIZES; i++) {
		p[i] = malloc(sizes[i]);
		CHECK(p[i]);
		kf_fill(p[i], sizes[i], (unsigned int)i);
	}
	for (size_t i = 0; i < NR_SIZES; i++) {
		CHECK(kf_filled(p[i], sizes[i], (unsigned int)i));
		free(p[i]);
	}
}

CASE(block_is_aligned_to_8_and_to_a_page)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		void *p = malloc(sizes[i]), *q;

		CHECK(p && (uintptr_t)p % 8 == 0);
		CHECK(!posix_memalign(&q, PAGE, sizes[i]));
		CHECK_EQ((uintptr_t)q % PAGE, 0);
		memset(q, 1, sizes[i]);
		free(p);
		free(q);
	}
}

CASE(whole_usable_size_can_be_written)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		void *p = malloc(sizes[i]), *q = malloc(sizes[i]);
		size_t usable = malloc_usable_size(p);

		CHECK(usable >= sizes[i]);
		kf_fill(q, sizes[i], 1);
		kf_fill(p, usable, 2);
		CHECK(kf_filled(q, sizes[i], 1));
		CHECK(kf_filled(p, usable, 2));
		free(q);
		free(p);
	}
}

CASE(zeroed_block_is_zero_where_another_was)
{
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < NR_SIZES; i++) {
			void *p = calloc(1, sizes[i]);

			CHECK(p && kf_all(p, sizes[i], 0));
			memset(p, 0xff, sizes[i]);
			free(p);
		}
	}
}

/* From a block that @first gave, @times further sizes, contents kept. */
static void resize(void *(*first)(size_t size), int times)
{
	for (size_t i = 0; i < NR_PAIRS; i++) {
		size_t from = pairs[i][0];
		void *p = first(from);

		CHECK(p);
		kf_fill(p, from, 3);
		for (int k = 0; k < times; k++) {
			size_t to = pairs[(i + (size_t)k) % NR_PAIRS][1];

			p = realloc(p, to);
			CHECK(p && (uintptr_t)p % 8 == 0);
			CHECK(malloc_usable_size(p) >= to);
			CHECK(kf_filled(p, from < to ? from : to, 3));
			kf_fill(p, to, 3);
			from = to;
		}
		free(p);
	}
}

static void *zeroed(size_t size)
{
	return calloc(1, size);
}

static void *aligned(size_t size)
{
	return memalign(PAGE, size);
}

CASE(realloc_after_malloc_keeps_the_contents)
{
	resize(malloc, 1);
	resize(aligned, 1);
}

CASE(realloc_after_calloc_keeps_the_contents)
{
	resize(zeroed, 1);
}

CASE(realloc_after_realloc_keeps_the_contents)
{
	resize(malloc, 5);
	resize(aligned, 5);
}

CASE(a_thousand_random_blocks_do_not_overlap)
{
	static unsigned char *p[NR_RANDOM];
	static size_t n[NR_RANDOM];
	unsigned int r = 1;

	for (unsigned int i = 0; i < NR_RANDOM; i++) {
		r = r * 1103515245u + 12345u;
		n[i] = 1 + (r >> 8) % 5000;
		p[i] = malloc(n[i]);
		CHECK(p[i]);
		kf_fill(p[i], n[i], i);
	}
	for (unsigned int i = 0; i < NR_RANDOM; i++) {
		CHECK(kf_filled(p[i], n[i], i));
		free(p[i]);
	}
}

static void *keep_ids(void *arg)
{
	static __thread uintptr_t *p[NR_IDS];
	uintptr_t id = (uintptr_t)arg;

	for (size_t i = 0; i < NR_IDS; i++) {
		p[i] = malloc(sizeof(*p[i]) + i % 300);
		CHECK(p[i]);
		*p[i] = id + i;
	}
	for (size_t i = 0; i < NR_IDS; i++) {
		CHECK_EQ(*p[i], id + i);
		free(p[i]);
	}
	return NULL;
}

CASE(two_threads_keep_ten_thousand_ids_each)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, keep_ids, (void *)1000000));
	keep_ids((void *)2000000);
	CHECK(!pthread_join(thread, NULL));
}

CASE(blocks_from_before_the_engine_live_on)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		size_t to = 2 * sizes[i] + 100;

		CHECK(early[i] && kf_all(early[i], sizes[i], 0x5e));
		CHECK(malloc_usable_size(early[i]) >= sizes[i]);
		early[i] = realloc(early[i], to);
		CHECK(early[i] && kf_all(early[i], sizes[i], 0x5e));
		memset(early[i], 0xe5, to);
		free(early[i]);
	}
}

static volatile int stop;

static void *churn(void *arg)
{
	void *p[50] = {NULL};

	for (unsigned int i = 0; !stop; i++) {
		free(p[i % 50]);
		p[i % 50] = malloc(i * 37 % 3000);
		if (i % 7 == 0)
			p[i % 50] = realloc(p[i % 50], i * 53 % 5000 + 1);
	}
	for (int i = 0; i < 50; i++)
		free(p[i]);
	return arg;
}

CASE(children_of_a_busy_program_can_allocate)
{
	pthread_t thread[3];
	void *p = malloc(1000);

	memset(p, 7, 1000);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&thread[i], NULL, churn, NULL));
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			CHECK(kf_all(p, 1000, 7));
			free(realloc(p, 100000));
			for (size_t n = 1; n < 100000; n += n / 2 + 1)
				free(malloc(n));
			_exit(0);
		}
		kf_reap(pid);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(thread[i], NULL));
	free(p);
}

CASE(windows_on_the_heap_make_sense)
{
	struct mallinfo2 before = mallinfo2(), with, after;
	void *p[100];

	for (int i = 0; i < 100; i++)
		p[i] = malloc(10000);
	with = mallinfo2();
	CHECK(with.uordblks >= before.uordblks + 1000000);
	CHECK(with.uordblks < before.uordblks + 2000000);
	CHECK(with.arena >= with.uordblks);
	CHECK_EQ(with.arena, with.uordblks + with.fordblks);
	for (int i = 0; i < 100; i++)
		free(p[i]);
	after = mallinfo2();
	CHECK(after.uordblks < with.uordblks - 900000);
	CHECK(malloc_trim(0) <= 1);
	CHECK_EQ(mallopt(M_MMAP_MAX, 100), 1);
	p[0] = malloc(10000);
	CHECK(p[0]);
	free(p[0]);
}
