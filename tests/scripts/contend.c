/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * contend THREADS ROUNDS: that many threads at once allocate and free a block
 * too large for the size classes, so many times each: they have to wait for
 * each other now and then.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define BYTES ((size_t)90000)

static pthread_barrier_t barrier;
static long nr_rounds;

static void *run(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < nr_rounds; i++) {
		void *volatile p = malloc(BYTES);

		if (!p)
			exit(1);
		free(p);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS];
	long nr = argc == 3 ? strtol(argv[1], NULL, 10) : 0;

	nr_rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	if (nr < 1 || nr > MAX_THREADS || nr_rounds < 1) {
		fprintf(stderr, "usage: contend THREADS ROUNDS\n");
		return 2;
	}
	if (pthread_barrier_init(&barrier, NULL, (unsigned int)nr))
		return 1;
	for (long i = 0; i < nr; i++) {
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 1;
	}
	for (long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
