/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * storm OBJECT...: four threads allocate at changing depths, two load and
 * unload the objects by turns and call their plug(), which allocates, and two
 * start threads with the smallest stacks, one after the other, which allocate.
 * Meanwhile the main thread sends signals to the first four. Ends after a fixed
 * number of steps.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

#define NR_BUSY 4
#define NR_LOADING 2
#define NR_STARTING 2
#define ROUNDS 200000
#define LOADS 3000
#define STARTS 2000
#define SMALLEST 16384

static char **objects;
static int nr_objects;
static atomic_uint nr_signals, nr_busy;

NOINLINE static int down(unsigned int depth, size_t size)
{
	void *volatile p;

	if (depth)
		return down(depth - 1, size) + 1;
	p = malloc(size);
	if (!p)
		abort();
	free(p);
	return 0;
}

static void *be_busy(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (down(i * 7 % 61, 100 + i * 131 % 5000) < 0)
			abort();
	}
	atomic_fetch_sub(&nr_busy, 1);
	return NULL;
}

static void *load(void *arg)
{
	for (int i = 0; i < LOADS; i++) {
		void *object = dlopen(objects[i % nr_objects], RTLD_NOW);
		void (*plug)(void) = NULL;

		if (object)
			plug = (void (*)(void))dlsym(object, "plug");
		if (!plug)
			abort();
		plug();
		dlclose(object);
	}
	return NULL;
}

static void *be_small(void *arg)
{
	for (size_t size = 100; size < 20000; size += 1000)
		down(3, size);
	return NULL;
}

static void *start(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, SMALLEST))
		abort();
	for (int i = 0; i < STARTS; i++) {
		if (pthread_create(&thread, &attr, be_small, NULL))
			abort();
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attr);
	return NULL;
}

/* It may come in the middle of a malloc, or of the walk of a stack. */
static void handle(int sig)
{
	volatile char used[1024];

	memset((void *)used, sig, sizeof(used));
	atomic_fetch_add(&nr_signals, used[7] != 0);
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_BUSY + NR_LOADING + NR_STARTING];
	int nr = 0;

	objects = argv + 1;
	nr_objects = argc - 1;
	if (!nr_objects)
		return 2;
	signal(SIGUSR1, handle);
	atomic_store(&nr_busy, NR_BUSY);
	for (int i = 0; i < NR_BUSY; i++)
		pthread_create(&thread[nr++], NULL, be_busy, NULL);
	for (int i = 0; i < NR_LOADING; i++)
		pthread_create(&thread[nr++], NULL, load, NULL);
	for (int i = 0; i < NR_STARTING; i++)
		pthread_create(&thread[nr++], NULL, start, NULL);
	for (int i = 0; atomic_load(&nr_busy); i++) {
		pthread_kill(thread[i % NR_BUSY], SIGUSR1);
		usleep(50);
	}
	while (nr--)
		pthread_join(thread[nr], NULL);
	printf("%s\n", atomic_load(&nr_signals) > 10 ? "over" : "no signals");
	return 0;
}
