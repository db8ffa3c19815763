/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * events N THREADS [HALVES]: makes N events of each kind, so that observers can
 * be compared.
 *
 * Promises: N times malloc, calloc, posix_memalign, malloc of a large block
 * and malloc of one that realloc then changes in size; N times free of each;
 * THREADS threads, one after the other, that allocate and free a block each and
 * end; HALVES of the large blocks, usually none, made half as long in between.
 * It leaves alone what its C library allocates for itself, which is the same in
 * a run with other N.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 1000
#define LARGE_BYTES ((size_t)300000)

/* Volatile, so that no compiler pairs a malloc with its free. */
static void *volatile block[MAX_EVENTS];

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "events: %s failed\n", what);
	exit(1);
}

static void free_all(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		free(block[i]);
}

static void allocate(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		block[i] = malloc(100);
	free_all(nr);
	for (unsigned int i = 0; i < nr; i++)
		block[i] = calloc(10, 20);
	free_all(nr);
	for (unsigned int i = 0; i < nr; i++) {
		void *p;

		check(!posix_memalign(&p, 256, 1000), "posix_memalign");
		block[i] = p;
	}
	free_all(nr);
}

static void allocate_large(unsigned int nr, unsigned int halves)
{
	for (unsigned int i = 0; i < nr; i++) {
		block[i] = malloc(LARGE_BYTES);
		check(block[i] != NULL, "malloc");
		memset(block[i], 1, LARGE_BYTES);
	}
	for (unsigned int i = 0; i < halves; i++) {
		block[i] = realloc(block[i], LARGE_BYTES / 2);
		check(block[i] != NULL, "realloc");
	}
	free_all(nr);
}

static void resize(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		block[i] = malloc(50);
	for (unsigned int i = 0; i < nr; i++) {
		block[i] = realloc(block[i], 5000);
		check(block[i] != NULL, "realloc");
	}
	free_all(nr);
}

static void *run_thread(void *unused)
{
	void *volatile p = malloc(64);

	free(p);
	return NULL;
}

static void run_threads(unsigned int nr)
{
	pthread_t thread;

	for (unsigned int i = 0; i < nr; i++) {
		check(!pthread_create(&thread, NULL, run_thread, NULL),
		      "pthread_create");
		check(!pthread_join(thread, NULL), "pthread_join");
	}
}

/* A number from 0 to MAX_EVENTS; -1 for anything else. */
static int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end == text || *end || n < 0 || n > MAX_EVENTS ? -1 : (int)n;
}

int main(int argc, char **argv)
{
	int nr = argc >= 3 ? number(argv[1]) : -1;
	int nr_threads = argc >= 3 ? number(argv[2]) : -1;
	int halves = argc >= 4 ? number(argv[3]) : 0;

	if (nr < 0 || nr_threads < 0 || halves < 0 || halves > nr || argc > 4) {
		fprintf(stderr,
			"usage: events N THREADS [HALVES], 0 to %d, and HALVES "
			"to N\n",
			MAX_EVENTS);
		return 2;
	}
	allocate((unsigned int)nr);
	allocate_large((unsigned int)nr, (unsigned int)halves);
	resize((unsigned int)nr);
	run_threads((unsigned int)nr_threads);
	return 0;
}
