/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exchange THREADS ROUNDS: threads that hand each other blocks.
 *
 * Each takes blocks by all functions of the malloc family, puts them into a
 * table that all share, and frees or resizes what it finds there. A thread
 * does a quarter of the rounds and is followed by another. ROUNDS 0: until
 * killed, or until standard input ends; "ready" is printed once each thread has
 * begun to exchange. When all is done the table is freed.
 */
#include "tests/chance.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_SLOTS 2048
#define GENERATIONS 4
#define MAX_THREADS 64
#define FIRST_TURNS 64

static void *table[NR_SLOTS]; /* atomic */
static uint64_t rounds;
static bool ended; /* atomic */
static sem_t begun;

static size_t a_size(uint64_t *seed)
{
	uint64_t n = chance_next(seed);

	if (n % 64 == 0)
		return n / 64 % 300000;
	return n / 64 % (n % 8 ? 200 : 5000);
}

static void *a_block(uint64_t *seed)
{
	size_t size = a_size(seed);

	switch (chance_next(seed) % 8) {
	case 0:
		return calloc(1, size);
	case 1:
		return memalign(64 << chance_next(seed) % 8, size);
	case 2:
		return realloc(NULL, size);
	default:
		return malloc(size);
	}
}

static void *swap(uint64_t *seed, void *p)
{
	return __atomic_exchange_n(&table[chance_next(seed) % NR_SLOTS], p,
				   __ATOMIC_ACQ_REL);
}

static void turn(uint64_t *seed)
{
	void *p = swap(seed, a_block(seed));

	if (p && chance_next(seed) % 4 == 0) {
		void *q = realloc(p, a_size(seed) + 1);

		p = swap(seed, q ? q : p);
	}
	free(p);
}

static void *work(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (uint64_t i = 0; i < rounds / GENERATIONS || !rounds; i++) {
		turn(&seed);
		if (i == FIRST_TURNS)
			sem_post(&begun);
		if (!rounds && __atomic_load_n(&ended, __ATOMIC_RELAXED))
			break;
	}
	return NULL;
}

static void generation(unsigned int nr, unsigned int number)
{
	pthread_t thread[MAX_THREADS];
	char byte;

	for (unsigned int i = 0; i < nr; i++) {
		uintptr_t seed = number * MAX_THREADS + i + 1;

		if (pthread_create(&thread[i], NULL, work, (void *)seed))
			exit(1);
	}
	if (!rounds) {
		for (unsigned int i = 0; i < nr; i++)
			sem_wait(&begun);
		printf("ready\n");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
		__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned int nr =
		argc > 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;

	if (!nr || nr > MAX_THREADS)
		return 2;
	rounds = strtoull(argv[2], NULL, 10);
	if (sem_init(&begun, 0, 0))
		return 1;
	for (unsigned int i = 0; i < (rounds ? GENERATIONS : 1); i++)
		generation(nr, i);
	for (size_t i = 0; i < NR_SLOTS; i++)
		free(table[i]);
	return 0;
}
