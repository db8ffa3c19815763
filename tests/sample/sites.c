/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sites: allocates known amounts at a few places, and says how much of each
 * size is live at the end: a line "usable bytes, bytes in all" for each.
 *
 * Promises: sizes are apart from each other, so that a site is known by its
 * size; all other allocations are freed again.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Volatile, so that no compiler leaves out a block that nobody uses. */
static void *volatile block;

static void tell(size_t nr)
{
	char line[64];
	size_t usable = malloc_usable_size(block);
	int n = snprintf(line, sizeof(line), "%zu %zu\n", usable, nr * usable);

	if (write(1, line, (size_t)n) != n)
		_exit(1);
}

NOINLINE static void small(void)
{
	for (int i = 0; i < 50000; i++)
		block = malloc(48);
	tell(50000);
}

NOINLINE static void medium(void)
{
	for (int i = 0; i < 20000; i++)
		block = malloc(200);
	tell(20000);
}

NOINLINE static void zeroed(void)
{
	for (int i = 0; i < 5000; i++)
		block = calloc(10, 100);
	tell(5000);
}

NOINLINE static void aligned(void)
{
	for (int i = 0; i < 1500; i++)
		block = aligned_alloc(64, 5120);
	tell(1500);
}

NOINLINE static void large(void)
{
	for (int i = 0; i < 100; i++)
		block = malloc(70000);
	tell(100);
}

/* Small blocks that grow, by way of other sizes. */
NOINLINE static void grown(void)
{
	for (int i = 0; i < 2000; i++) {
		block = malloc(16);
		block = realloc(block, 300);
		block = realloc(block, 1800);
	}
	tell(2000);
}

/* Large ones, in place and moved. */
NOINLINE static void grown_large(void)
{
	for (int i = 0; i < 40; i++) {
		block = malloc(20000);
		for (size_t size = 40000; size <= 160000; size += 20000)
			block = realloc(block, size);
		block = realloc(block, 90000);
	}
	tell(40);
}

NOINLINE static void passing(void)
{
	for (int i = 0; i < 5000; i++) {
		block = malloc(640);
		free(block);
	}
}

int main(void)
{
	small();
	medium();
	zeroed();
	passing();
	aligned();
	large();
	grown();
	grown_large();
	passing();
	return 0;
}
