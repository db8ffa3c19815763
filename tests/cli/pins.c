/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pins: three programs that fragment their heap, with leftovers of known call
 * sites: `pins query|cache|threads [tags]`. With "tags" the leftovers of the
 * first are inside tags of their functions' names. Says "ready", then takes a
 * slow path each few milliseconds until its standard input ends.
 */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "konfiscator.h"

#define NR 120000

static void *blocks[4][NR];
static int tags;

/* The calls must not be folded into one, nor end in a jump. */
#define SITE(name)                                               \
	static __attribute__((noinline)) void *name(size_t size) \
	{                                                        \
		void *p;                                         \
                                                                 \
		if (tags)                                        \
			konf_tag_push(#name);                    \
		p = memset(malloc(size), sizeof(#name), size);   \
		if (tags)                                        \
			konf_tag_pop();                          \
		__asm__ volatile("" : "+r"(p));                  \
		return p;                                        \
	}

SITE(keep_plan)
SITE(keep_row)
SITE(keep_index)
SITE(use_once)

static unsigned int next(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % below;
}

/* A query's own blocks go at its end; some results of its plan stay. */
static void query(void **b)
{
	unsigned int seed = 1;

	for (size_t i = 0; i < NR; i++) {
		unsigned int what = next(&seed, 100);

		b[i] = what < 2	  ? keep_plan(208)
		       : what < 6 ? keep_row(208)
		       : what < 9 ? keep_index(200)
				  : use_once(200);
		if (what < 9)
			b[i] = NULL; /* leaked: it stays */
	}
	for (size_t i = 0; i < NR; i++)
		free(b[i]);
}

/* A cache of which the old half goes, but for what was used since. */
static void cache(void **b)
{
	unsigned int seed = 2;

	for (size_t i = 0; i < NR; i++)
		b[i] = next(&seed, 3) ? keep_row(96)
				      : keep_index(i % 2 ? 400 : 96);
	for (size_t i = 0; i < NR / 2; i++) {
		if (next(&seed, 10))
			free(b[i]);
	}
}

static void *worker(void *arg)
{
	void **b = arg;
	unsigned int seed = (unsigned int)(b - blocks[0]) + 3;

	for (size_t i = 0; i < NR; i++)
		b[i] = next(&seed, 8) ? use_once(64)
		       : i % 2	      ? keep_plan(64)
				      : keep_row(64);
	seed = (unsigned int)(b - blocks[0]) + 3;
	for (size_t i = 0; i < NR; i++) {
		if (next(&seed, 8))
			free(b[i]);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t id[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, worker, blocks[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	tags = argc > 2;
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "query"))
		query(blocks[0]);
	else if (!strcmp(argv[1], "cache"))
		cache(blocks[0]);
	else
		threads();
	puts("ready");
	fflush(stdout);
	do {
		void *volatile p = malloc(1 << 20);

		free(p);
	} while (!poll(&in, 1, 5));
	return 0;
}
