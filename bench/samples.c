/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * samples THREADS PAIRS: each thread frees and allocates so many blocks of 16
 * to 4096 bytes, by chance, with 4096 live; prints nanoseconds a pair.
 */
#include "tests/chance.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIVE 4096
#define MOST 64

static unsigned long pairs;

static void *run(void *arg)
{
	static __thread void *volatile block[LIVE];
	uint64_t state = (uintptr_t)arg;

	for (unsigned long i = 0; i < pairs; i++) {
		uint64_t n = chance_next(&state);

		free(block[n % LIVE]);
		block[n % LIVE] = malloc((size_t)16 << (n >> 32) % 9);
	}
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t thread[MOST];
	double began;

	if (!threads || threads > MOST)
		return 2;
	pairs = strtoul(argv[2], NULL, 10);
	began = now();
	for (uintptr_t i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, run, (void *)(i + 1)))
			return 1;
	}
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%.2f\n", (now() - began) / (double)pairs);
	return 0;
}
