// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A thread in real-time mode whose calls of malloc are quick, or take what they
 * must not take: "tolls quick|maps|touches|waits".
 */
#define _GNU_SOURCE
#include <konfiscator.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define ROUNDS 1000
#define BLOCKS 4096

static volatile int ends;

static __attribute__((noinline)) void calls_quickly(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *volatile p = malloc(64);

		*p = 1;
		free(p);
	}
}

/* Larger than any threshold from which blocks have mappings of their own. */
static __attribute__((noinline)) void maps_memory(void)
{
	for (int i = 0; i < 10; i++) {
		void *volatile p = malloc((size_t)100 << 20);

		free(p);
	}
}

/* The blocks are on pages that nobody has touched. */
static __attribute__((noinline)) void touches_pages(void)
{
	static void *all[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		all[i] = malloc(1000);
	for (int i = 0; i < BLOCKS; i++)
		free(all[i]);
}

static __attribute__((noinline)) void waits_for_others(void)
{
	for (int i = 0; i < 500 * ROUNDS; i++) {
		void *volatile p = malloc(40000);

		free(p);
	}
}

static void *worker(void *unused)
{
	(void)unused;
	while (!ends) {
		void *volatile p = malloc(40000);

		free(p);
	}
	return NULL;
}

static void *control(void *how)
{
	pthread_setname_np(pthread_self(), "control-1");
	calls_quickly();
	konf_realtime_enter();
	calls_quickly();
	if (!strcmp(how, "maps"))
		maps_memory();
	else if (!strcmp(how, "touches"))
		touches_pages();
	else if (!strcmp(how, "waits"))
		waits_for_others();
	konf_realtime_leave();
	return NULL;
}

int main(int argc, char *argv[])
{
	pthread_t threads[3];

	if (argc != 2 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return EXIT_FAILURE;
	for (int i = 0; i < 2; i++) {
		if (!strcmp(argv[1], "waits"))
			pthread_create(&threads[i], NULL, worker, NULL);
	}
	pthread_create(&threads[2], NULL, control, argv[1]);
	pthread_join(threads[2], NULL);
	ends = 1;
	for (int i = 0; i < 2; i++) {
		if (!strcmp(argv[1], "waits"))
			pthread_join(threads[i], NULL);
	}
	return EXIT_SUCCESS;
}
