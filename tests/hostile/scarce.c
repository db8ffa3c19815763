// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Uses up what the kernel has of one thing, then has to get along: what cannot
 * be had is told as ENOMEM, what was there stays whole, and when there is some
 * again it is given out.
 *
 *	scarce addresses BYTES	by RLIMIT_AS, so much more than is in use
 *	scarce mappings		by vm.max_map_count
 *	scarce memory		by whatever limits it outside of this program
 *
 * Prints the number of requests that got nothing.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/space.h"

#define NR_BLOCKS 100000
#define NR_SIZES 4
#define PAGE 4096

static const size_t sizes[NR_SIZES] = {100, 3000, 60000, 400000};
static unsigned char **blocks;
static size_t nr_blocks, nr_failed;

static void fail(const char *what)
{
	fprintf(stderr, "scarce: %s\n", what);
	_Exit(1);
}

static void limit_addresses(size_t more)
{
	size_t mapped = space_bytes(SPACE_MAPPED);
	struct rlimit limit;

	if (!mapped)
		fail("/proc/self/statm cannot be read");
	if (getrlimit(RLIMIT_AS, &limit))
		fail("getrlimit");
	limit.rlim_cur = mapped + more;
	if (setrlimit(RLIMIT_AS, &limit))
		fail("setrlimit");
}

static void unlimit_addresses(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit))
		fail("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_AS, &limit))
		fail("setrlimit");
}

/* Pages of another protection than their neighbours cannot be one mapping. */
static char *pages;
static size_t nr_pages;

static void use_up_mappings(size_t most)
{
	nr_pages = 2 * most;
	pages = mmap(NULL, nr_pages * PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		fail("mmap");
	for (size_t i = 1; i < nr_pages; i += 2) {
		if (mprotect(pages + i * PAGE, PAGE, PROT_READ))
			return;
	}
	fail("there are as many mappings as one likes");
}

static size_t size_of(size_t i)
{
	return sizes[i % NR_SIZES];
}

/* Until each size got nothing once, and a while longer. */
static void exhaust(void)
{
	unsigned int missing = (1u << NR_SIZES) - 1;

	for (size_t i = 0; missing && nr_blocks < NR_BLOCKS; i++) {
		unsigned char *p;

		errno = 0;
		p = i % 3 ? malloc(size_of(i)) : calloc(1, size_of(i));
		if (p) {
			memset(p, (int)(nr_blocks % 251), size_of(i));
			malloc_usable_size(p);
			/* The size goes with the number: remember by order. */
			blocks[nr_blocks * 2] = p;
			blocks[nr_blocks * 2 + 1] = p + size_of(i);
			nr_blocks++;
		} else if (errno == ENOMEM) {
			missing &= ~(1u << i % NR_SIZES);
			nr_failed++;
		} else {
			fail("nothing was given, and errno is not ENOMEM");
		}
	}
}

static void release(void)
{
	for (size_t i = 0; i < nr_blocks; i++) {
		for (unsigned char *p = blocks[2 * i]; p < blocks[2 * i + 1];
		     p++) {
			if (*p != (unsigned char)(i % 251))
				fail("a block has changed");
		}
		free(blocks[2 * i]);
	}
	nr_blocks = 0;
}

static void use(void)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		void *p = malloc(size_of(i));

		if (!p)
			fail("memory is not given that is there");
		memset(p, 1, size_of(i));
		free(p);
	}
}

int main(int argc, char **argv)
{
	bool mappings = argc == 2 && !strcmp(argv[1], "mappings");

	if (argc < 2)
		return 2;
	blocks = mmap(NULL, 2 * NR_BLOCKS * sizeof(*blocks),
		      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (blocks == MAP_FAILED)
		return 2;
	for (int round = 0; round < 2; round++) {
		if (argc > 2)
			limit_addresses(strtoul(argv[2], NULL, 10));
		else if (mappings)
			use_up_mappings(100000);
		exhaust();
		release();
		if (argc > 2)
			unlimit_addresses();
		else if (mappings)
			munmap(pages, nr_pages * PAGE);
		use();
	}
	printf("%zu\n", nr_failed);
	return 0;
}
