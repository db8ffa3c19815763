/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pools WHAT: a program for the tests of the engine tlsf, run under the
 * library. It allocates nothing but what it says, ends with 0, or with 1 and
 * one line.
 *
 *	grow	fill the pools, then say "now" on stderr and take 1000 bytes
 *	refuse	ask for what no kernel has
 *	fill	take blocks of 1 MiB until there is no memory, and use them;
 *		then free all and take one again
 *	threads	eight threads of posix_memalign and realloc
 *	sums	compare mallinfo2 with what is live, between random calls
 *	trim	use 60 MiB in pools of 4 MiB and more, free them and trim; with
 *		a block that stays, and without
 *	double, inside, foreign
 *		free a block twice, a part of it, something else
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/chance.h"
#include "tests/pattern.h"
#include "tests/space.h"

#define NR_THREADS 8
#define NR_BLOCKS 200
#define NR_CALLS 20000

static void fail(const char *what)
{
	if (write(2, what, strlen(what)) < 0 || write(2, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

#define CHECK(cond)                  \
	do {                         \
		if (!(cond))         \
			fail(#cond); \
	} while (0)

/* The smallest blocks leave no room for others. */
static void grow(void)
{
	void *volatile p = malloc(1);
	size_t arena = mallinfo2().arena;

	while (mallinfo2().arena == arena) {
		p = malloc(1);
		CHECK(p);
	}
	CHECK(write(2, "now\n", 4) == 4);
	p = malloc(1000);
	CHECK(p);
	memset(p, 1, 1000);
}

static void refused(size_t size)
{
	void *volatile p;

	errno = 0;
	p = malloc(size);
	CHECK(!p && errno == ENOMEM);
	errno = 0;
	p = calloc(size, 1);
	CHECK(!p && errno == ENOMEM);
	CHECK(posix_memalign((void **)&p, 4096, size) == ENOMEM);
	p = malloc(10);
	CHECK(p);
	errno = 0;
	CHECK(!realloc(p, size) && errno == ENOMEM);
	free(p);
}

static void refuse(void)
{
	for (unsigned int bits = 47; bits < 64; bits++)
		refused((size_t)1 << bits);
	refused((size_t)3 << 46);
	refused(PTRDIFF_MAX);
	refused(SIZE_MAX);
}

static void fill(void)
{
	char **list = NULL, **next;
	size_t nr = 0;

	while ((next = malloc(1 << 20)) != NULL) {
		memset(next, 1, 1 << 20);
		*next = (char *)list;
		list = next;
		nr++;
	}
	CHECK(errno == ENOMEM && nr > 0);
	for (; list; list = next) {
		next = (char **)*list;
		free(list);
	}
	CHECK((list = malloc(1 << 20)) != NULL);
	free(list);
}

struct block {
	unsigned char *p;
	size_t size;
	uint64_t key;
};

static size_t some_size(uint64_t *state)
{
	return 1 + chance_below(state, (size_t)1 << chance_below(state, 17));
}

static void put(struct block *b, size_t size, uint64_t *state)
{
	b->size = size;
	b->key = chance_next(state);
	pattern_fill(b->p, size, b->key);
}

static void take(struct block *b, uint64_t *state)
{
	size_t align = (size_t)8 << chance_below(state, 10);
	size_t size = some_size(state);

	CHECK(posix_memalign((void **)&b->p, align, size) == 0);
	CHECK((uintptr_t)b->p % align == 0);
	put(b, size, state);
}

static void change(struct block *b, uint64_t *state)
{
	size_t size = some_size(state);

	b->p = realloc(b->p, size);
	CHECK(b->p);
	CHECK(pattern_holds(b->p, size < b->size ? size : b->size, b->key));
	put(b, size, state);
}

static void drop(struct block *b)
{
	CHECK(pattern_holds(b->p, b->size, b->key));
	free(b->p);
	b->p = NULL;
}

static void step(struct block *b, uint64_t *state)
{
	if (!b->p)
		take(b, state);
	else if (chance_below(state, 2))
		change(b, state);
	else
		drop(b);
}

static void *work(void *seed)
{
	struct block blocks[NR_BLOCKS] = {0};
	uint64_t state = (uintptr_t)seed;

	for (int i = 0; i < NR_CALLS; i++)
		step(&blocks[chance_below(&state, NR_BLOCKS)], &state);
	for (int i = 0; i < NR_BLOCKS; i++)
		if (blocks[i].p)
			drop(&blocks[i]);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[NR_THREADS];

	for (uintptr_t i = 0; i < NR_THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < NR_THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
}

static void drop_new(uint64_t *state)
{
	struct block b;

	take(&b, state);
	drop(&b);
}

static void sums(void)
{
	static struct block blocks[NR_BLOCKS];
	struct mallinfo2 before, now;
	uint64_t state = 5;
	size_t live;

	/* There may be no pool before the first block. */
	drop_new(&state);
	before = mallinfo2();
	for (int i = 0; i < NR_CALLS / 10; i++) {
		step(&blocks[chance_below(&state, NR_BLOCKS)], &state);
		live = 0;
		for (int b = 0; b < NR_BLOCKS; b++)
			live += malloc_usable_size(blocks[b].p);
		now = mallinfo2();
		CHECK(now.uordblks == before.uordblks + live);
		CHECK(now.uordblks + now.fordblks == now.arena);
	}
	for (int b = 0; b < NR_BLOCKS; b++)
		free(blocks[b].p);
	now = mallinfo2();
	CHECK(now.uordblks == before.uordblks);
	CHECK(now.ordblks == before.ordblks);
}

#define TRIMMED 60
#define MIB ((size_t)1 << 20)

/* Free all but one, or all; what stays resident afterwards is in MiB. */
static void use_and_trim(int stays, size_t most)
{
	static unsigned char *p[TRIMMED];
	size_t before = space_bytes(SPACE_RESIDENT);

	for (int i = 0; i < TRIMMED; i++) {
		p[i] = calloc(1, MIB - 100);
		CHECK(p[i]);
		for (size_t k = 0; k < MIB - 100; k++)
			CHECK(!p[i][k]);
		memset(p[i], i + 1, MIB - 100);
	}
	CHECK(space_bytes(SPACE_RESIDENT) - before > (TRIMMED - 5) * MIB);
	for (int i = 0; i < TRIMMED; i++) {
		if (i != stays)
			free(p[i]);
	}
	CHECK(malloc_trim(0) == 1);
	CHECK(space_bytes(SPACE_RESIDENT) < before + most * MIB);
	if (stays < 0)
		return;
	for (size_t k = 0; k < MIB - 100; k++)
		CHECK(p[stays][k] == stays + 1);
	free(p[stays]);
	malloc_trim(0);
}

static void trim(void)
{
	use_and_trim(-1, 1);
	use_and_trim(TRIMMED - 1, 34);
	use_and_trim(0, 6);
	use_and_trim(-1, 1);
}

static void misuse(const char *how)
{
	static char foreign[64] __attribute__((aligned(16)));
	char *volatile p = malloc(1000);
	char *volatile q = malloc(1000);

	CHECK(p && q);
	memset(p, 'x', 1000);
	if (strcmp(how, "inside") == 0)
		free(p + 160);
	if (strcmp(how, "foreign") == 0)
		free(foreign + 16);
	free(p);
	free(q);
	free(p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} whats[] = {
		{"grow", grow},	      {"refuse", refuse}, {"fill", fill},
		{"threads", threads}, {"sums", sums},	  {"trim", trim},
	};

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		if (strcmp(argv[1], whats[i].name) == 0) {
			whats[i].run();
			return 0;
		}
	}
	misuse(argv[1]);
	return 0;
}
