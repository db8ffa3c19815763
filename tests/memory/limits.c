/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs for a limit of memory.
 *
 *	limits waves THREADS MIB ROUNDS
 *		Threads in turn allocate MIB mebibytes of blocks of sizes of
 *their own, touch them, free all but a few, and sleep: what they cache is of no
 *use to the others. Prints the peak of the resident size in KiB. limits fill
 *BYTES For each line on stdin: allocates blocks of BYTES until malloc fails or
 *1 GiB is reached, prints how many MiB there were and the errno, frees them
 *all, and allocates one more. limits fork BYTES Fills 32 MiB, forks, and does
 *as fill, once, in the child. limits realloc Grows one block until realloc
 *fails; the block is as it was.
 *
 *	limits wanes
 *		Keeps 32 MiB. For each line on stdin: allocates and frees as
 *		much again, in blocks of 30,000 bytes, and prints a line.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/chance.h"

#define MIB ((size_t)1 << 20)
#define MOST ((size_t)1 << 30)
#define KEPT 64 /* blocks of each thread until its next turn */

struct thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool turn, done, ends;
	int number;
	size_t bytes;
	void **kept;
};

/* The least size, which differs from thread to thread, to 48 KiB. */
static size_t least_of(const struct thread *t)
{
	return (size_t)48 << (t->number % 11);
}

static void free_all(void **p)
{
	while (p) {
		void **next = *p;

		free(p);
		p = next;
	}
}

/* The blocks are linked by their first words. */
static void wave(struct thread *t, uint64_t *state)
{
	size_t least = least_of(t), total = 0, nr = 0;
	void **kept = NULL, **others = NULL;

	while (total < t->bytes) {
		size_t size = least + chance_below(state, least / 4);
		void **p = malloc(size);

		if (!p)
			abort();
		memset(p, 1, size);
		if (nr++ < KEPT) {
			*p = kept;
			kept = p;
		} else {
			*p = others;
			others = p;
		}
		total += size;
	}
	free_all(others);
	t->kept = kept;
}

static void *thread_run(void *arg)
{
	struct thread *t = arg;
	uint64_t state = (uint64_t)t->number + 1;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->turn && !t->ends)
			pthread_cond_wait(&t->changed, &t->lock);
		if (t->ends)
			break;
		free_all(t->kept);
		wave(t, &state);
		t->turn = false;
		pthread_cond_signal(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void let_run(struct thread *t)
{
	pthread_mutex_lock(&t->lock);
	t->turn = true;
	pthread_cond_signal(&t->changed);
	while (t->turn)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

static int waves(int nr, size_t bytes, int rounds)
{
	struct thread *threads = calloc((size_t)nr, sizeof(*threads));
	struct rusage usage;

	for (int i = 0; i < nr; i++) {
		struct thread *t = &threads[i];

		t->number = i;
		t->bytes = bytes;
		if (pthread_mutex_init(&t->lock, NULL) ||
		    pthread_cond_init(&t->changed, NULL) ||
		    pthread_create(&t->thread, NULL, thread_run, t))
			return 1;
	}
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < nr; i++)
			let_run(&threads[i]);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n", usage.ru_maxrss);
	return 0;
}

static int fill(size_t size)
{
	size_t most = MOST / size, nr = 0;
	void **block = calloc(most, sizeof(*block));
	int error = 0;
	void *p;

	if (!block)
		return 1;
	while (nr < most && (p = malloc(size))) {
		memset(p, 1, size);
		block[nr++] = p;
	}
	if (nr < most)
		error = errno;
	printf("%zu %s\n", nr * size / MIB,
	       error == ENOMEM ? "ENOMEM"
	       : error	       ? "wrong"
			       : "all");
	fflush(stdout);
	while (nr)
		free(block[--nr]);
	free(block);
	p = malloc(size);
	if (!p)
		return 1;
	free(p);
	return 0;
}

static int fork_and_fill(size_t size)
{
	char *kept[32];
	int status;
	pid_t pid;

	for (int i = 0; i < 32; i++) {
		kept[i] = malloc(MIB);
		if (!kept[i])
			return 1;
		memset(kept[i], 1, MIB);
	}
	pid = fork();
	if (!pid)
		_exit(fill(size));
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	for (int i = 0; i < 32; i++)
		free(kept[i]);
	return 0;
}

static int grow(void)
{
	size_t size = 4096;
	char *p = malloc(size), *next;

	memset(p, 7, size);
	while (size < MOST && (next = realloc(p, size + size / 4))) {
		p = next;
		memset(p + size, 7, size / 4);
		size += size / 4;
	}
	if (size < MOST && errno != ENOMEM)
		return 1;
	for (size_t i = 0; i < size; i++) {
		if (p[i] != 7)
			return 1;
	}
	printf("%zu %s\n", size / MIB, size < MOST ? "ENOMEM" : "all");
	free(p);
	return 0;
}

#define WANING_SIZE 30000
#define WANING (32 * MIB / WANING_SIZE)

static int wane(void)
{
	static void *kept[WANING], *others[WANING];
	char line[16];

	for (size_t i = 0; i < WANING; i++)
		kept[i] = memset(malloc(WANING_SIZE), 1, WANING_SIZE);
	while (fgets(line, sizeof(line), stdin)) {
		for (size_t i = 0; i < WANING; i++)
			others[i] = memset(malloc(WANING_SIZE), 1, WANING_SIZE);
		for (size_t i = 0; i < WANING; i++)
			free(others[i]);
		puts("freed");
		fflush(stdout);
	}
	for (size_t i = 0; i < WANING; i++)
		free(kept[i]);
	return 0;
}

static size_t number(const char *s)
{
	return strtoul(s, NULL, 10);
}

int main(int argc, char *argv[])
{
	char line[16];
	int status = 0;

	if (argc == 5 && !strcmp(argv[1], "waves"))
		return waves((int)number(argv[2]), number(argv[3]) * MIB,
			     (int)number(argv[4]));
	if (argc == 3 && !strcmp(argv[1], "fork"))
		return fork_and_fill(number(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "realloc"))
		return grow();
	if (argc == 2 && !strcmp(argv[1], "wanes"))
		return wane();
	if (argc != 3 || strcmp(argv[1], "fill") != 0)
		return 2;
	while (!status && fgets(line, sizeof(line), stdin))
		status = fill(number(argv[2]));
	return status;
}
