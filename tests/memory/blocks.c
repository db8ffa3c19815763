// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Many large blocks at once, in one of several ways:
 *
 *	blocks alike		all of 200000 bytes
 *	blocks varied		of 130000 to 400000
 *	blocks small		of 40000 to 50000, M_MMAP_THRESHOLD 32768
 *	blocks many		M_MMAP_MAX beyond what the kernel has
 *	blocks aligned		at multiples of 2 MiB
 *	blocks holes		every other one freed, and others taken
 *	blocks growing		each by realloc, twice
 *	blocks threads		varied, by four threads
 *
 * Prints how many mappings the process has then. Fails where a block cannot be
 * had, or is not what was written to it.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/chance.h"

#define NR_BLOCKS 70000
#define NR_ALIGNED 40000
#define NR_GROWING 34000 /* those that are copied need their pages */
#define NR_THREADS 4

static size_t **blocks;

static void fail(const char *what, size_t i)
{
	fprintf(stderr, "blocks: %s, block %zu\n", what, i);
	_Exit(1);
}

static void mark(size_t *block, size_t i)
{
	if (!block)
		fail("no memory", i);
	block[0] = i;
}

static void take(size_t from, size_t to, size_t least, size_t spread)
{
	uint64_t chance = from;

	for (size_t i = from; i < to; i++) {
		blocks[i] = malloc(least + chance_below(&chance, spread));
		mark(blocks[i], i);
	}
}

static void *take_part(void *arg)
{
	size_t from = (size_t)((size_t **)arg - blocks);

	take(from, from + NR_BLOCKS / NR_THREADS, 130000, 270000);
	return NULL;
}

static void take_by_threads(void)
{
	pthread_t thread[NR_THREADS];

	for (size_t i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&thread[i], NULL, take_part,
				   blocks + i * (NR_BLOCKS / NR_THREADS)))
			fail("no thread", i);
	}
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void take_aligned(void)
{
	for (size_t i = 0; i < NR_ALIGNED; i++) {
		blocks[i] = aligned_alloc(1 << 21, 150000);
		mark(blocks[i], i);
	}
}

static void take_into_holes(void)
{
	take(0, NR_BLOCKS, 130000, 270000);
	for (size_t i = 0; i < NR_BLOCKS; i += 2)
		free(blocks[i]);
	for (size_t i = 0; i < NR_BLOCKS; i += 2) {
		blocks[i] = malloc(420000);
		mark(blocks[i], i);
	}
}

static void grow(void)
{
	take(0, NR_GROWING, 130000, 1);
	for (size_t size = 200000; size <= 300000; size += 100000) {
		for (size_t i = 0; i < NR_GROWING; i++) {
			blocks[i] = realloc(blocks[i], size);
			if (!blocks[i])
				fail("no memory", i);
		}
	}
}

static void check(void)
{
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		if (blocks[i] && blocks[i][0] != i)
			fail("lost what was written", i);
	}
}

/* A million small ones, as there is nothing left where these took it all. */
static void take_small(void)
{
	for (size_t i = 0; i < 1000000; i++)
		mark(malloc(100), i);
}

static size_t nr_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t nr = 0;
	int c;

	if (!maps)
		fail("no /proc/self/maps", 0);
	while ((c = getc(maps)) != EOF)
		nr += c == '\n';
	fclose(maps);
	return nr;
}

static bool run(const char *how)
{
	if (!strcmp(how, "alike"))
		take(0, NR_BLOCKS, 200000, 1);
	else if (!strcmp(how, "varied"))
		take(0, NR_BLOCKS, 130000, 270000);
	else if (!strcmp(how, "small") && mallopt(M_MMAP_THRESHOLD, 32768))
		take(0, NR_BLOCKS, 40000, 10000);
	else if (!strcmp(how, "many") && mallopt(M_MMAP_MAX, 10000000))
		take(0, NR_BLOCKS, 130000, 270000);
	else if (!strcmp(how, "aligned"))
		take_aligned();
	else if (!strcmp(how, "holes"))
		take_into_holes();
	else if (!strcmp(how, "growing"))
		grow();
	else if (!strcmp(how, "threads"))
		take_by_threads();
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	blocks = mmap(NULL, NR_BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (blocks == MAP_FAILED || argc != 2 || !run(argv[1])) {
		fputs("usage: blocks HOW\n", stderr);
		return 2;
	}
	check();
	take_small();
	printf("%zu\n", nr_mappings());
	return 0;
}
