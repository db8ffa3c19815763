// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Heaps that were larger:
 *
 *	peaks turns		vectors that grow by an eighth in turn
 *	peaks holes LEAST MOST	blocks of such sizes taken and freed by chance,
 *				as many as by turns are large and small in sum
 *	peaks later HOW		a peak, all but a little of it freed, and then
 *				light use for some seconds: HOW is small, large,
 *				grow, free or thread; "now": none
 *
 * All that is live is touched. Prints, in KiB, the most that was resident
 *beyond one and a half times what was live ("turns", "holes"), or what is
 *resident in the end ("later"); what was resident at the start is no part of
 *it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/chance.h"
#include "tests/space.h"

#define MIB ((size_t)1 << 20)
#define NR_BLOCKS 200000
#define LATER_STEPS 30 /* of a fifth of a second */

static struct block {
	char *p;
	size_t size;
} * blocks;

static size_t start, live, excess;

static void fail(const char *what)
{
	fprintf(stderr, "peaks: %s\n", what);
	_Exit(1);
}

static size_t resident(void)
{
	size_t now = space_bytes(SPACE_RESIDENT);

	return now > start ? now - start : 0;
}

static void look(void)
{
	size_t now = resident(), may = live + live / 2;

	if (now > may && now - may > excess)
		excess = now - may;
}

static void put(size_t i, size_t size)
{
	blocks[i].p = malloc(size);
	if (!blocks[i].p)
		fail("no memory");
	memset(blocks[i].p, 1, size);
	blocks[i].size = size;
	live += size;
}

static void drop(size_t i)
{
	free(blocks[i].p);
	blocks[i].p = NULL;
	live -= blocks[i].size;
}

static char *grow(char *p, size_t from, size_t to)
{
	p = realloc(p, to);
	if (!p)
		fail("no memory");
	memset(p + from, 1, to - from);
	live += to - from;
	look();
	return p;
}

static void turns(void)
{
	for (int i = 0; i < 50; i++) {
		char *p = NULL, *q = NULL;

		for (size_t n = 0, to; n < 3000000; n = to) {
			to = n + 37 + n / 8;
			p = grow(p, n, to);
			q = grow(q, n, to);
		}
		free(p);
		free(q);
		live = 0;
		look();
	}
}

/* Up to 150 MiB, down to 15, and so on, some against the stream. */
static void holes(size_t least, size_t most)
{
	uint64_t chance = 1, nr = 2 * 150 * MIB / ((least + most) / 2);
	unsigned int turns = 0;
	bool up = true;

	nr = nr < NR_BLOCKS ? nr : NR_BLOCKS;
	for (size_t n = 0; turns < 8; n++) {
		size_t i = chance_below(&chance, nr);
		bool taken = blocks[i].p;

		if (taken == up && chance_below(&chance, 32))
			continue;
		if (taken)
			drop(i);
		else
			put(i, least + chance_below(&chance, most - least + 1));
		if (up ? live > 150 * MIB : live < 15 * MIB) {
			up = !up;
			turns++;
		}
		if (n % 64 == 0)
			look();
	}
}

static void peak(void)
{
	static const size_t sizes[] = {40, 700, 2000, 20000, 60000, 400000};
	size_t n = 0;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		for (size_t sum = 0; sum < 50 * MIB && n < NR_BLOCKS; n++) {
			put(n, k ? sizes[k] : 1000 + n % 9000);
			sum += blocks[n].size;
		}
	}
	while (n--)
		drop(n);
}

static void *lightly(void *arg)
{
	const char *how = arg;
	void *kept[64] = {NULL};
	size_t n = 0;

	for (int i = 0; i < LATER_STEPS; i++) {
		nanosleep(&(struct timespec){0, 200000000}, NULL);
		if (!strcmp(how, "large")) {
			free(malloc(100000));
		} else if (!strcmp(how, "grow")) {
			kept[0] = realloc(kept[0], 40000 + (size_t)i * 5000);
		} else if (!strcmp(how, "free")) {
			free(blocks[n++].p);
		} else {
			/* More than a bin has. */
			for (int k = 0; k < 64; k++)
				kept[k] = malloc(1000);
			for (int k = 0; k < 64; k++)
				free(kept[k]);
			memset(kept, 0, sizeof(kept));
		}
	}
	free(kept[0]);
	return NULL;
}

static void later(char *how)
{
	pthread_t thread;

	peak();
	if (!strcmp(how, "now"))
		return;
	for (size_t i = 0; i < LATER_STEPS; i++)
		put(i, 50000);
	if (strcmp(how, "thread")) {
		lightly(how);
	} else {
		if (pthread_create(&thread, NULL, lightly, how))
			fail("no thread");
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	blocks = mmap(NULL, NR_BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (blocks == MAP_FAILED)
		fail("no memory");
	free(malloc(1));
	start = space_bytes(SPACE_RESIDENT);
	if (argc == 2 && !strcmp(argv[1], "turns"))
		turns();
	else if (argc == 4 && !strcmp(argv[1], "holes"))
		holes(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "later"))
		later(argv[2]);
	else
		return 2;
	if (!strcmp(argv[1], "later"))
		excess = resident();
	printf("%zu\n", excess >> 10);
	return 0;
}
