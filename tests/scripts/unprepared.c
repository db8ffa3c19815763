/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program with frame pointers that leaks in four functions and allocates
 * for nothing in two, once it reads a line. A child that it forks does the same
 * and counts for nobody. Says "done", and waits for another line.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT static __attribute__((noinline, noclone))

static void *volatile kept;

/* Not a tail call: the caller is in the stack. */
#define KEEP(block) (kept = (block))

KEPT void leak_small(void)
{
	for (int i = 0; i < 30000; i++)
		KEEP(malloc(256));
}

KEPT void leak_zeroed(void)
{
	for (int i = 0; i < 3000; i++)
		KEEP(calloc(2, 1024));
}

KEPT void leak_aligned(void)
{
	for (int i = 0; i < 300; i++) {
		void *block = NULL;

		if (!posix_memalign(&block, 64, 40960))
			KEEP(block);
	}
}

/* Without frame pointers: its own probe has the caller. */
void *operator_new(size_t bytes) __asm__("_Znam");

KEPT void leak_new(void)
{
	for (int i = 0; i < 6000; i++)
		KEEP(operator_new(1024));
}

KEPT void churn(void)
{
	for (int i = 0; i < 20000; i++) {
		KEEP(malloc(512));
		free(kept);
	}
}

/* realloc(NULL) is a malloc that calls another one. */
KEPT void grow(void)
{
	for (int i = 0; i < 10000; i++) {
		KEEP(realloc(NULL, 256));
		KEEP(realloc(kept, 512));
		free(kept);
	}
}

static void *thread(void *unused)
{
	leak_zeroed();
	kept = NULL;
	return unused;
}

KEPT void work(void)
{
	pthread_t t;

	leak_small();
	leak_aligned();
	leak_new();
	churn();
	grow();
	if (!pthread_create(&t, NULL, thread, NULL))
		pthread_join(t, NULL);
}

int main(void)
{
	pid_t child;

	puts("ready");
	fflush(stdout);
	getchar();
	child = fork();
	if (!child) {
		work();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	work();
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
