/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * busy: eight threads allocate, change and free blocks of all sizes, also those
 * of each other, children are forked, and objects loaded and unloaded, until
 * stdin ends and for some rounds at least. A handler of signals allocates too.
 *
 * Promises: all that it allocated is freed at its end; contents are checked
 * where a block is changed or freed.
 */
#include "tests/chance.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS 8
#define NR_PLACES 1024
#define ROUNDS 20000

struct block {
	size_t size;
	unsigned char first;
};

static _Atomic(unsigned char *) places[NR_PLACES];
static atomic_bool over;

static size_t any_size(uint64_t *state)
{
	size_t most = (size_t)32 << chance_below(state, 13);

	return sizeof(struct block) + chance_below(state, most);
}

/* Who and what; a child's end is told by its parent as well. */
static void expect(bool right, const char *what, int number)
{
	if (right)
		return;
	dprintf(2, "busy: process %d: %s: %d\n", getpid(), what, number);
	abort();
}

/* A block says how long it is, and its last byte as much again. */
static unsigned char *stamp(unsigned char *p, size_t size)
{
	struct block b = {size, (unsigned char)size};

	expect(p, "there is no block, errno", errno);
	memcpy(p, &b, sizeof(b));
	p[size - 1] = (unsigned char)size;
	return p;
}

static void check(const unsigned char *p)
{
	struct block b;

	memcpy(&b, p, sizeof(b));
	expect(b.first == (unsigned char)b.size, "a block's contents", b.first);
}

static unsigned char *make(uint64_t *state)
{
	size_t size = any_size(state);

	if (chance_below(state, 4))
		return stamp(malloc(size), size);
	return stamp(calloc(1, size), size);
}

static void step(uint64_t *state)
{
	_Atomic(unsigned char *) *place =
		&places[chance_below(state, NR_PLACES)];
	unsigned char *p = atomic_exchange(place, NULL);

	if (!p) {
		p = make(state);
	} else {
		check(p);
		if (chance_below(state, 3)) {
			free(p);
			return;
		}
		size_t size = any_size(state);

		p = stamp(realloc(p, size), size);
	}
	p = atomic_exchange(place, p);
	free(p);
}

static void *run(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	for (int i = 0; i < ROUNDS || !atomic_load(&over); i++)
		step(&state);
	return NULL;
}

static void handle(int sig)
{
	void *volatile p = malloc(100000);

	free(p);
}

static bool has_ended(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char c;

	return poll(&in, 1, 10) == 1 && read(0, &c, 1) <= 0;
}

static void fork_one(void)
{
	uint64_t state = 99;
	pid_t pid = fork();
	int status;

	expect(pid >= 0, "no fork, errno", errno);
	if (!pid) {
		for (int i = 0; i < 1000; i++)
			step(&state);
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid, "no child, errno", errno);
	expect(!status, "a child's status", status);
}

static void other_things(void)
{
	void *object = dlopen("libresolv.so.2", RTLD_NOW);

	if (object)
		dlclose(object);
	raise(SIGUSR1);
}

int main(void)
{
	pthread_t thread[NR_THREADS];

	signal(SIGUSR1, handle);
	for (uintptr_t i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&thread[i], NULL, run, (void *)(i + 1)))
			return 1;
	}
	for (int i = 0; i < 20 || !has_ended(); i++) {
		other_things();
		if (i % 8 == 0)
			fork_one();
	}
	atomic_store(&over, true);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < NR_PLACES; i++)
		free(places[i]);
	return 0;
}
