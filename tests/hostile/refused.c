// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Uses a heap that may be refused memory at any call (refuse.c): what it gets
 * is whole, what it does not get is told as ENOMEM, what it had stays as it
 * was, and afterwards all is to be had again.
 *
 * Prints: memory calls seen, of these refused, requests that got nothing.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_BLOCKS 400

extern unsigned long refuse_seen __attribute__((weak));
extern unsigned long refuse_refused __attribute__((weak));
extern void refuse_no_more(void) __attribute__((weak));

static struct {
	unsigned char *p;
	size_t size;
	unsigned char fill;
} blocks[NR_BLOCKS];

static unsigned long nr_failed;
static unsigned int state = 1;

static unsigned int chance(unsigned int below)
{
	state = state * 1103515245u + 12345u;
	return (state >> 8) % below;
}

static void fail(const char *what)
{
	fprintf(stderr, "refused: %s\n", what);
	_Exit(1);
}

static void check(unsigned int i)
{
	for (size_t at = 0; at < blocks[i].size; at++) {
		if (blocks[i].p[at] != blocks[i].fill)
			fail("a block has changed");
	}
}

static void fill(unsigned int i, void *p, size_t size)
{
	blocks[i].p = p;
	blocks[i].size = size;
	blocks[i].fill = (unsigned char)(i + 1);
	memset(p, blocks[i].fill, size);
}

static size_t some_size(void)
{
	switch (chance(8)) {
	case 0:
		return 1 + chance(1000000);
	case 1:
	case 2:
		return 1 + chance(60000);
	default:
		return 1 + chance(3000);
	}
}

static void *got(void *p)
{
	if (p)
		return p;
	if (errno != ENOMEM)
		fail("nothing was given, and errno is not ENOMEM");
	nr_failed++;
	return NULL;
}

static void take(unsigned int i)
{
	size_t size = some_size();
	unsigned char *p;

	errno = 0;
	if (chance(4)) {
		p = got(malloc(size));
	} else if (chance(2)) {
		p = got(calloc(1, size));
		for (size_t at = 0; p && at < size; at++) {
			if (p[at])
				fail("calloc gave what is not zero");
		}
	} else {
		p = got(memalign(256, size));
	}
	if (p)
		fill(i, p, size);
}

static void resize(unsigned int i)
{
	size_t size = some_size(), had = blocks[i].size;
	unsigned char *p;

	errno = 0;
	p = got(realloc(blocks[i].p, size));
	if (!p)
		return;
	blocks[i].p = p;
	blocks[i].size = size < had ? size : had;
	check(i);
	fill(i, p, size);
}

static void give(unsigned int i)
{
	free(blocks[i].p);
	blocks[i].p = NULL;
	blocks[i].size = 0;
}

static void *work(void *steps)
{
	for (unsigned int n = *(unsigned int *)steps; n; n--) {
		unsigned int i = chance(NR_BLOCKS);

		check(i);
		if (!blocks[i].p)
			take(i);
		else if (chance(3))
			give(i);
		else
			resize(i);
	}
	return NULL;
}

int main(void)
{
	unsigned int steps = 500;
	unsigned long before;
	pthread_t thread;

	work(&steps);
	/* Another thread has a heap of its own; the blocks are the first's. */
	if (!pthread_create(&thread, NULL, work, &steps))
		pthread_join(thread, NULL);
	malloc_trim(0);
	work(&steps);
	if (refuse_no_more)
		refuse_no_more();
	before = nr_failed;
	work(&steps);
	if (nr_failed != before)
		fail("memory is refused that the kernel would give");
	for (unsigned int i = 0; i < NR_BLOCKS; i++) {
		check(i);
		give(i);
	}
	malloc_trim(0);
	printf("%lu %lu %lu\n", &refuse_seen ? refuse_seen : 0,
	       &refuse_refused ? refuse_refused : 0, nr_failed);
	return 0;
}
