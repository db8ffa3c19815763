// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program whose memory comes and goes under a library that hears of it
 * (hook.c): alone at first, to ask the kernel whether the pages of each block
 * are there still and the library whether it heard; then with threads, one of
 * which holds the lock that the library waits for.
 *
 * busy [quiet|late]	quiet: the malloc gives nothing back by name; late: of
 *			blocks up to 64 KiB, and of those that moved, tools hear
 *			when their addresses go
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NR_THREADS = 4, NR_ROUNDS = 1500, NR_BLOCKS = 60, KEPT_ERRNO = 77 };

extern unsigned long hook_calls[4] __attribute__((weak));
extern pthread_mutex_t hook_lock __attribute__((weak));
extern const char *hook_watched __attribute__((weak));
extern unsigned long hook_heard __attribute__((weak));

static int over;
static long page;
static size_t least = 50000;
static int late;

static void fail(const char *what, size_t size)
{
	fprintf(stderr, "busy: %s (%zu bytes)\n", what, size);
	_Exit(1);
}

static int is_gone(const char *p)
{
	unsigned char there = 0;
	void *start = (void *)((uintptr_t)p & ~(uintptr_t)(page - 1));

	return mincore(start, (size_t)page, &there) != 0 || !(there & 1);
}

static void watch(char *p)
{
	hook_heard = 0;
	hook_watched = p;
}

static void look(const char *what, size_t size)
{
	const char *p = hook_watched;

	if (is_gone(p) && !hook_heard)
		fail(what, size);
	hook_watched = NULL;
}

static char *filled(size_t size)
{
	char *p = malloc(size);

	if (!p)
		fail("no memory", size);
	memset(p, 1, size);
	return p;
}

static void each_page_that_goes_is_told(void)
{
	static char *small[20000];
	char *p;

	for (size_t size = least; size < 40000000; size += size / 3) {
		p = filled(size);
		watch(p + size / 2);
		free(p);
		look("pages of a freed block are gone unheard", size);
	}
	for (size_t size = least; size < 40000000; size += size / 2) {
		p = filled(size);
		watch(p + size / 2);
		free(p);
		malloc_trim(size % 3 ? 0 : 100000);
		look("pages of a trimmed block are gone unheard", size);
	}
	for (size_t size = 4000000; size < 40000000; size += size / 2) {
		p = filled(size);
		watch(p + size / 2);
		p = realloc(p, 1000);
		look("pages of a block that shrank are gone unheard", size);
		free(p);
		p = filled(size);
		watch(p + size / 2);
		p = realloc(p, 3 * size);
		if (late)
			hook_watched = NULL;
		else
			look("pages of a block that grew are gone unheard",
			     size);
		free(p);
	}
	for (size_t size = 100; size < 3000; size *= 2) {
		for (int i = 0; i < 20000; i++)
			small[i] = filled(size);
		watch(small[10000]);
		for (int i = 0; i < 20000; i++)
			free(small[i]);
		malloc_trim(0);
		look("pages of small blocks are gone unheard", size);
	}
}

static unsigned int chance(unsigned int *state, unsigned int below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 8) % below;
}

static size_t some_size(unsigned int *state)
{
	size_t size = (size_t)1 << chance(state, 22);

	return size + chance(state, (unsigned int)size);
}

struct block {
	unsigned char *p;
	size_t size;
};

static void check(const struct block *b)
{
	if (b->p && (b->p[0] != (unsigned char)b->size ||
		     b->p[b->size - 1] != (unsigned char)b->size))
		fail("a block has changed", b->size);
}

static void mark(struct block *b, void *p, size_t size)
{
	if (!p)
		fail("no memory", size);
	b->p = p;
	b->size = size;
	b->p[0] = b->p[size - 1] = (unsigned char)size;
}

static void change(struct block *b, unsigned int *state)
{
	size_t size = some_size(state);

	check(b);
	errno = KEPT_ERRNO;
	if (b->p && chance(state, 3) == 0) {
		mark(b, realloc(b->p, size), size);
	} else {
		free(b->p);
		if (errno != KEPT_ERRNO)
			fail("free() changed errno", b->size);
		mark(b, malloc(size), size);
	}
	if (errno != KEPT_ERRNO)
		fail("a call that succeeded changed errno", size);
}

static void *work(void *arg)
{
	unsigned int state = (unsigned int)(uintptr_t)arg;
	struct block block[NR_BLOCKS] = {{NULL, 0}};

	for (int i = 0; i < NR_ROUNDS; i++) {
		change(&block[chance(&state, NR_BLOCKS)], &state);
		if (i % 500 == 0)
			malloc_trim(i % 1000);
	}
	for (int i = 0; i < NR_BLOCKS; i++) {
		check(&block[i]);
		free(block[i].p);
	}
	return NULL;
}

/* Allocates with the lock that the library waits for. */
static void *hold(void *arg)
{
	unsigned int state = (unsigned int)(uintptr_t)arg;
	struct block block[NR_BLOCKS] = {{NULL, 0}};

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&hook_lock);
		for (int i = 0; i < 20; i++) {
			struct block *b = &block[chance(&state, NR_BLOCKS)];
			size_t size = some_size(&state);

			check(b);
			free(b->p);
			mark(b, malloc(size), size);
		}
		pthread_mutex_unlock(&hook_lock);
		usleep(100);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		free(block[i].p);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_THREADS], holder;

	if (!&hook_lock)
		fail("there is no library that hears", 0);
	page = sysconf(_SC_PAGESIZE);
	late = argc > 1 && strcmp(argv[1], "late") == 0;
	if (late)
		least = 150000;
	if (argc < 2 || late)
		each_page_that_goes_is_told();
	pthread_create(&holder, NULL, hold, (void *)99);
	for (uintptr_t round = 0; round < 3; round++) {
		for (uintptr_t i = 0; i < NR_THREADS; i++)
			pthread_create(&thread[i], NULL, work,
				       (void *)(round * 16 + i + 1));
		for (int i = 0; i < NR_THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(holder, NULL);
	printf("mmap %lu munmap %lu mremap %lu madvise %lu\n", hook_calls[0],
	       hook_calls[1], hook_calls[2], hook_calls[3]);
	return 0;
}
