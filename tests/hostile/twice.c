// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Blocks that are freed twice where the thread that frees does not own them:
 *
 *	twice perturbed BYTES	after mallopt(M_PERTURB)
 *	twice later BYTES	likewise, other blocks between
 *	twice guest BYTES	in a thread without a heap of its own
 *	twice other BYTES	both times in another thread
 *	twice then-owner BYTES	in another thread, then by its owner
 *	twice owner-then BYTES	by its owner, then in another thread
 *	twice sleeper BYTES	in the main thread, then by its owner, which
 *sleeps while the main thread frees all but one
 *
 * Prints whether a block was given twice, if the program comes so far.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 3000

static size_t bytes;
static void *block[BLOCKS], *again[2 * BLOCKS];

static void allocate(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = malloc(bytes);
		memset(block[i], 0x55, bytes);
	}
}

static int compare(const void *a, const void *b)
{
	void *const *p = a, *const *q = b;

	return (*p > *q) - (*p < *q);
}

static void look(void)
{
	int twice = 0;

	for (size_t i = 0; i < 2 * BLOCKS; i++)
		again[i] = malloc(bytes);
	qsort(again, 2 * BLOCKS, sizeof(again[0]), compare);
	for (size_t i = 1; i < 2 * BLOCKS; i++)
		twice += again[i] == again[i - 1];
	printf("not noticed, %d blocks given twice\n", twice);
}

static void *free_twice(void *arg)
{
	void *p = malloc(bytes);

	free(p);
	free(p);
	look();
	return arg;
}

/* Others stay, or the pages would go, too. */
static void *free_most(void *arg)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (i % 3 != 2)
			free(block[i]);
	return arg;
}

static void *free_one(void *arg)
{
	free(arg);
	return NULL;
}

static void elsewhere(void *run(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		_Exit(2);
	pthread_join(thread, NULL);
}

static sem_t owned, freed, over;

/* The block before lets the slab have a local list again. */
static void *own_and_sleep(void *arg)
{
	allocate();
	sem_post(&owned);
	sem_wait(&freed);
	free(block[6]);
	free(block[7]);
	sem_post(&owned);
	sem_wait(&over);
	return arg;
}

static void sleeper(void)
{
	pthread_t thread;

	if (sem_init(&owned, 0, 0) || sem_init(&freed, 0, 0) ||
	    sem_init(&over, 0, 0) ||
	    pthread_create(&thread, NULL, own_and_sleep, NULL))
		_Exit(2);
	sem_wait(&owned);
	free(block[7]);
	malloc_trim(0);
	sem_post(&freed);
	sem_wait(&owned);
	for (size_t i = 0; i < BLOCKS; i++)
		if (i < 6 || i > 8)
			free(block[i]);
	malloc_trim(0);
	look();
}

static void perturbed(int later)
{
	void *p;

	mallopt(M_PERTURB, 42);
	allocate();
	p = block[BLOCKS / 2];
	free(p);
	if (later) {
		block[BLOCKS / 2] = NULL;
		free_most(NULL);
		/* Not so many that it is given again. */
		for (size_t i = 0; i < 10; i++)
			again[i] = malloc(bytes + 2000);
	}
	free(p);
	look();
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	if (!strcmp(what, "perturbed") || !strcmp(what, "later")) {
		perturbed(!strcmp(what, "later"));
	} else if (!strcmp(what, "guest")) {
		free(malloc(bytes));
		elsewhere(free_twice, NULL);
	} else if (!strcmp(what, "other")) {
		allocate();
		elsewhere(free_most, NULL);
		elsewhere(free_one, block[7]);
		look();
	} else if (!strcmp(what, "then-owner")) {
		allocate();
		elsewhere(free_most, NULL);
		free(block[7]);
		look();
	} else if (!strcmp(what, "sleeper")) {
		sleeper();
	} else if (!strcmp(what, "owner-then")) {
		allocate();
		free(block[7]);
		elsewhere(free_one, block[7]);
		look();
	} else {
		return 2;
	}
	return 0;
}
