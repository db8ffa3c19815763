// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * traders SECONDS: threads allocate, free, trade blocks with each other and
 * sleep now and then, while one thread calls malloc_trim(), which reclaims
 * memory of the others' heaps, and another forks. Each block has a pattern,
 * which is checked before it is freed. A child allocates and frees what the
 * others had.
 *
 * Ends with status 0 if every block was whole.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/chance.h"

#define NR_THREADS 8
#define NR_PLACES 4096
#define NR_OWN 300
#define BURST 2000
#define FREED_BY_CHILD 1000

struct block {
	size_t size;
	unsigned char pattern[];
};

static struct block *place[NR_PLACES]; /* atomic */
static bool over;		       /* atomic */
static long nr_children;

static void fail(const char *what)
{
	fprintf(stderr, "traders: %s\n", what);
	abort();
}

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static size_t size_by_chance(uint64_t *chance)
{
	uint64_t n = chance_next(chance);

	if (n % 100 < 70)
		return sizeof(struct block) + (n >> 8) % 500;
	return sizeof(struct block) + (n >> 8) % (n % 100 < 95 ? 6000 : 60000);
}

static unsigned char byte_of(const struct block *b, size_t i)
{
	return (unsigned char)(((uintptr_t)b >> 4) + i);
}

static struct block *make(uint64_t *chance)
{
	size_t size = size_by_chance(chance);
	struct block *b = malloc(size);

	if (!b)
		fail("no memory");
	b->size = size;
	for (size_t i = 0; i < size - sizeof(*b); i++)
		b->pattern[i] = byte_of(b, i);
	return b;
}

static void check_and_free(struct block *b)
{
	if (!b)
		return;
	if (b->size > malloc_usable_size(b))
		fail("a block has another size");
	for (size_t i = 0; i < b->size - sizeof(*b); i++) {
		if (b->pattern[i] != byte_of(b, i))
			fail("a block has another content");
	}
	free(b);
}

static struct block *trade(uint64_t i, struct block *b)
{
	return __atomic_exchange_n(&place[i % NR_PLACES], b, __ATOMIC_ACQ_REL);
}

static void burst(struct block **own, uint64_t *chance)
{
	uint64_t nr = chance_next(chance) % BURST;

	while (nr--) {
		uint64_t n = chance_next(chance);
		struct block *b = make(chance), *other = b;

		if (n % 4 == 0) {
			other = own[(n >> 8) % NR_OWN];
			own[(n >> 8) % NR_OWN] = b;
		} else if (n % 4 > 1) {
			other = trade(n >> 8, b);
		}
		check_and_free(other);
	}
}

static void free_own(struct block **own)
{
	for (int i = 0; i < NR_OWN; i++) {
		check_and_free(own[i]);
		own[i] = NULL;
	}
}

static void *run_trader(void *arg)
{
	uint64_t chance = (uint64_t)(uintptr_t)arg;
	struct block *own[NR_OWN] = {NULL};

	while (!is_over()) {
		uint64_t n = chance_next(&chance);

		burst(own, &chance);
		if (n % 8 == 0)
			free_own(own);
		if (n % 4 == 0)
			usleep((useconds_t)((n >> 8) % 20000));
	}
	free_own(own);
	return NULL;
}

static void *run_freer(void *arg)
{
	while (!is_over()) {
		for (uint64_t i = 0; i < NR_PLACES; i++)
			check_and_free(trade(i, NULL));
		usleep(1000);
	}
	return arg;
}

static void *run_trimmer(void *arg)
{
	while (!is_over()) {
		malloc_trim(0);
		usleep(200);
	}
	return arg;
}

static void be_a_child(void)
{
	uint64_t chance = (uint64_t)getpid();

	for (int i = 0; i < BURST; i++)
		check_and_free(make(&chance));
	/* Their contents may be copied in part: a trader was writing. */
	for (uint64_t i = 0; i < FREED_BY_CHILD; i++)
		free(trade(i, NULL));
	malloc_trim(0);
	_exit(0);
}

static void *run_forker(void *arg)
{
	while (!is_over()) {
		pid_t pid = fork();
		int status;

		if (!pid)
			be_a_child();
		if (waitpid(pid, &status, 0) != pid || status)
			fail("a child failed");
		nr_children++;
		usleep(30000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const others[])(void *) = {run_freer, run_trimmer, run_forker};
	pthread_t thread[NR_THREADS + 3];

	if (argc != 2)
		fail("how many seconds?");
	for (uintptr_t i = 0; i < NR_THREADS + 3; i++) {
		if (pthread_create(&thread[i], NULL,
				   i < NR_THREADS ? run_trader
						  : others[i - NR_THREADS],
				   (void *)i))
			fail("no thread");
	}
	sleep((unsigned int)strtoul(argv[1], NULL, 10));
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_THREADS + 3; i++)
		pthread_join(thread[i], NULL);
	return nr_children ? 0 : 1;
}
