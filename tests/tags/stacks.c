/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocates under the tags net.http, net.cache and disk from functions of known
 * names in two threads, and says what lives in each: lines of
 * TAG FUNCTION BYTES BLOCKS. Then it waits for the end of its input.
 */
#include "konfiscator.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR 23
#define NR_THREADS 2

/* What a function has made and not freed, in all threads. */
struct sum {
	const char *tag;
	const char *function;
	size_t bytes;
	size_t blocks;
};

static struct sum sums[] = {
	{"net.http", "fetch", 0, 0},  {"net.http", "parse", 0, 0},
	{"net.http", "grow", 0, 0},   {"net.http", "align", 0, 0},
	{"net.cache", "keep", 0, 0},  {"disk", "store", 0, 0},
	{"net.http", "vanish", 0, 0},
};

static void count(const char *function, void *p)
{
	struct sum *s = sums;

	while (strcmp(s->function, function))
		s++;
	__atomic_fetch_add(&s->bytes, malloc_usable_size(p), __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->blocks, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void fetch(void)
{
	count("fetch", malloc(1000));
}

/* Of its own mapping. */
static __attribute__((noinline)) void parse(void)
{
	count("parse", calloc(1, 300000));
}

/* What was grow's first and what its realloc takes are gone. */
static __attribute__((noinline)) void grow(size_t i)
{
	void *p = malloc(10 + i);

	count("grow", realloc(p, i % 2 ? 40000 : 700));
}

static __attribute__((noinline)) void align(void)
{
	count("align", aligned_alloc(64, 128));
}

static __attribute__((noinline)) void *vanish(void)
{
	return malloc(2000);
}

static __attribute__((noinline)) void keep(void)
{
	count("keep", malloc(50));
}

static __attribute__((noinline)) void store(void)
{
	count("store", malloc(60));
}

static void *gone[NR_THREADS][NR];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	size_t self = (size_t)arg;

	konf_tag_push("net.http");
	for (size_t i = 0; i < NR; i++) {
		fetch();
		if (i % 8 == 0)
			parse();
		grow(i);
		align();
		gone[self][i] = vanish();
		free(vanish());
		konf_tag_push("net.cache");
		keep();
		konf_tag_pop();
	}
	konf_tag_pop();
	konf_tag_push("disk");
	store();
	konf_tag_pop();
	pthread_barrier_wait(&barrier);
	/* The other thread's, under no tag. */
	for (size_t i = 0; i < NR; i++)
		free(gone[!self][i]);
	return NULL;
}

int main(void)
{
	pthread_t thread[NR_THREADS];

	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		printf("%s %s %zu %zu\n", sums[i].tag, sums[i].function,
		       sums[i].bytes, sums[i].blocks);
	fflush(stdout);
	return getchar() != EOF;
}
