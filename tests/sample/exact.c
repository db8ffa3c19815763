/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exact: threads that allocate by every call of the malloc family, known
 * numbers of blocks, and leak known ones. A function for each; all sizes are
 * those of size classes, so that bytes are known, too.
 *
 * Nothing else is allocated while they run: the threads exist before.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define THREADS 4
#define ROUNDS 500

static pthread_barrier_t all_exist;

/* Volatile, so that no compiler leaves out a block that nobody uses. */
static void *volatile block;

/* No call is the last one, which would leave the function first. */
NOINLINE static void use(void *p)
{
	block = p;
}

NOINLINE static void freed_malloc(void)
{
	void *p = malloc(96);

	use(p);
	free(p);
}

NOINLINE static void freed_calloc(void)
{
	void *p = calloc(4, 64);

	use(p);
	free(p);
}

NOINLINE static void grown(void)
{
	void *p = malloc(64);

	use(p);
	p = realloc(p, 20480);
	use(p);
	p = realloc(p, 1048576);
	use(p);
	free(p);
}

NOINLINE static void leaked_malloc(void)
{
	use(malloc(48));
}

NOINLINE static void leaked_aligned(void)
{
	use(aligned_alloc(4096, 8192));
}

NOINLINE static void leaked_large(void)
{
	use(malloc(409600));
}

NOINLINE static void leaked_grown(void)
{
	void *p = malloc(32);

	use(p);
	p = realloc(p, 128);
	use(p);
}

NOINLINE static void leaked_strings(void)
{
	use(strdup("twelve chars"));
}

static void *work(void *unused)
{
	pthread_barrier_wait(&all_exist);
	for (int i = 0; i < ROUNDS; i++) {
		freed_malloc();
		freed_calloc();
		leaked_malloc();
		if (i % 10)
			continue;
		grown();
		leaked_aligned();
		leaked_grown();
	}
	leaked_large();
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&all_exist, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 2;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++)
		leaked_strings();
	return 0;
}
