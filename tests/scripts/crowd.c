/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * crowd CHILDREN THREADS BLOCKS: a threaded, forking program whose events are
 * known, for observers to be compared.
 *
 * Promises: each of its 1 + CHILDREN processes runs THREADS threads at once,
 * and each of these mallocs BLOCKS small blocks, makes each larger by realloc,
 * frees them, and does once so with a large block. All threads of the first
 * process hold their blocks while the children are forked, and each child has
 * a large block before it has threads. Before all that each thread enters the
 * tag "kept", where keep() has a block for good and others for a moment. It
 * leaves alone what its C library allocates for its threads.
 */
#include <konfiscator.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILDREN 100
#define MAX_THREADS 100
#define MAX_BLOCKS 1000
#define LARGE_BYTES ((size_t)300000)
#define KEPT_BYTES ((size_t)200000)
#define PASSED_BYTES ((size_t)77)
#define NR_PASSED 11

static unsigned int nr_children;
static unsigned int nr_threads;
static unsigned int nr_blocks;

/* In the first process: all blocks are there; all children are forked. */
static pthread_barrier_t full;
static pthread_barrier_t forked;

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "crowd: %s failed\n", what);
	exit(1);
}

__attribute__((noinline, noclone)) static void keep(void)
{
	KONF_TAG_SCOPE("kept");
	void *volatile block = malloc(KEPT_BYTES);

	check(block != NULL, "malloc");
	for (int i = 0; i < NR_PASSED; i++) {
		block = malloc(PASSED_BYTES);
		free(block);
	}
}

static void *allocate(void *first)
{
	void *volatile block[MAX_BLOCKS];
	void *volatile large;

	keep();
	large = malloc(LARGE_BYTES);
	check(large != NULL, "malloc");
	memset(large, 1, LARGE_BYTES);
	for (unsigned int i = 0; i < nr_blocks; i++)
		block[i] = malloc(40 + i);
	for (unsigned int i = 0; i < nr_blocks; i++) {
		block[i] = realloc(block[i], 2000 + i);
		check(block[i] != NULL, "realloc");
	}
	if (first) {
		pthread_barrier_wait(&full);
		pthread_barrier_wait(&forked);
	}
	for (unsigned int i = 0; i < nr_blocks; i++)
		free(block[i]);
	free(large);
	return NULL;
}

static void start_threads(pthread_t *threads, void *first)
{
	for (unsigned int i = 0; i < nr_threads; i++)
		check(!pthread_create(&threads[i], NULL, allocate, first),
		      "pthread_create");
}

static void join_threads(const pthread_t *threads)
{
	for (unsigned int i = 0; i < nr_threads; i++)
		check(!pthread_join(threads[i], NULL), "pthread_join");
}

static void have_large_block(void)
{
	void *volatile large = malloc(LARGE_BYTES);

	check(large != NULL, "malloc");
	free(large);
}

static void fork_children(void)
{
	for (unsigned int i = 0; i < nr_children; i++) {
		pthread_t threads[MAX_THREADS];
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid > 0)
			continue;
		have_large_block();
		start_threads(threads, NULL);
		join_threads(threads);
		exit(0);
	}
	for (unsigned int i = 0; i < nr_children; i++) {
		int status;

		check(wait(&status) > 0 && status == 0, "a child");
	}
}

/* A number from 1 to max; 0 for anything else. */
static unsigned int number(const char *text, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end == text || *end || n < 1 || n > max ? 0 : (unsigned int)n;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];

	if (argc == 4) {
		nr_children = number(argv[1], MAX_CHILDREN);
		nr_threads = number(argv[2], MAX_THREADS);
		nr_blocks = number(argv[3], MAX_BLOCKS);
	}
	if (!nr_children || !nr_threads || !nr_blocks) {
		fprintf(stderr,
			"usage: crowd CHILDREN THREADS BLOCKS, from 1 to %d, %d and %d\n",
			MAX_CHILDREN, MAX_THREADS, MAX_BLOCKS);
		return 2;
	}
	check(!pthread_barrier_init(&full, NULL, nr_threads + 1), "barrier");
	check(!pthread_barrier_init(&forked, NULL, nr_threads + 1), "barrier");
	start_threads(threads, &full);
	pthread_barrier_wait(&full);
	fork_children();
	pthread_barrier_wait(&forked);
	join_threads(threads);
	return 0;
}
