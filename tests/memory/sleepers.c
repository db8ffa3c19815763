// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that sleep for ever after they allocated:
 *
 *	sleepers owners|bursts THREADS MIB trim|clock
 *
 * Each thread allocates MIB mebibytes of small blocks. "owners": the main
 *thread frees the blocks. "bursts": each thread frees its own. Then the main
 *thread calls malloc_trim() ("trim"), or allocates and frees a little ("clock")
 *until no more than 16 MiB and 256 KiB for each thread are left, or for ten
 *seconds. Prints the resident KiB beyond those before the threads began and
 *those of the threads' stacks and lists.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/chance.h"
#include "tests/space.h"

#define MIB ((size_t)1 << 20)
#define SIZE_MAX_SMALL 2000
#define STEPS 100 /* of a tenth of a second */
#define STACK ((size_t)64 << 10)

struct owner {
	void **blocks;
	size_t nr;
	uint64_t chance;
};

static sem_t filled, never;
static bool bursts;
static size_t bytes_each;

static void fail(const char *what)
{
	fprintf(stderr, "sleepers: %s\n", what);
	_Exit(1);
}

static void free_all(struct owner *o)
{
	for (size_t i = 0; i < o->nr; i++)
		free(o->blocks[i]);
}

static void *own(void *arg)
{
	struct owner *o = arg;
	size_t bytes = 0;

	while (bytes < bytes_each) {
		size_t size = 16 + chance_next(&o->chance) % SIZE_MAX_SMALL;
		void *p = malloc(size);

		if (!p)
			fail("no memory");
		memset(p, 1, size);
		o->blocks[o->nr++] = p;
		bytes += size;
	}
	if (bursts)
		free_all(o);
	sem_post(&filled);
	for (;;)
		sem_wait(&never);
	return NULL;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("no addresses");
	return p;
}

static void begin(struct owner *o)
{
	pthread_attr_t attr;
	pthread_t thread;

	o->blocks = map(bytes_each / 16 * sizeof(void *));
	if (pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, STACK) ||
	    pthread_create(&thread, &attr, own, o))
		fail("no thread");
	pthread_attr_destroy(&attr);
}

/* Lists of blocks and stacks are not memory of the heap. */
static size_t beyond(size_t start, size_t lists, size_t nr)
{
	size_t now = space_bytes(SPACE_RESIDENT);
	size_t before = start + lists + nr * 3 * 4096;

	return now > before ? now - before : 0;
}

static void use_a_little(void)
{
	static void *p[SIZE_MAX_SMALL];

	for (size_t i = 0; i < SIZE_MAX_SMALL; i++)
		p[i] = malloc(i);
	for (size_t i = 0; i < SIZE_MAX_SMALL; i++)
		free(p[i]);
	usleep(100000);
}

int main(int argc, char **argv)
{
	size_t nr = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
	struct owner *owners;
	size_t start, lists = 0, enough;

	if (!nr)
		fail("owners|bursts THREADS MIB trim|clock");
	bursts = !strcmp(argv[1], "bursts");
	bytes_each = strtoul(argv[3], NULL, 10) * MIB;
	enough = 16 * MIB + nr * MIB / 4;
	owners = map(nr * sizeof(*owners));
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	start = space_bytes(SPACE_RESIDENT);
	for (size_t i = 0; i < nr; i++) {
		owners[i].chance = i;
		begin(&owners[i]);
	}
	for (size_t i = 0; i < nr; i++)
		sem_wait(&filled);
	for (size_t i = 0; i < nr; i++) {
		if (!bursts)
			free_all(&owners[i]);
		lists += owners[i].nr * sizeof(void *);
	}
	if (!strcmp(argv[4], "trim"))
		malloc_trim(0);
	else
		for (int i = 0; i < STEPS && beyond(start, lists, nr) > enough;
		     i++)
			use_a_little();
	printf("%zu\n", beyond(start, lists, nr) / 1024);
	fflush(stdout);
	_Exit(0);
}
