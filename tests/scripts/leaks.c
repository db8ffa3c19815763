/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * leaks: allocates known numbers of blocks that it never frees, says "done" and
 * waits to be killed.
 *
 * Promises: the blocks that function lose_X loses are all that it allocates,
 * except grow(), whose blocks realloc changes, and pass(), which frees all. It
 * leaves alone what its C library allocates for itself.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/*
 * Volatile, so that no compiler leaves out a block that nobody uses; the loops'
 * counters are, so that none unrolls them: each call would have its own stack.
 */
static void *volatile block;

NOINLINE static void lose_small(void)
{
	for (volatile int i = 0; i < 101; i++)
		block = malloc(100);
}

NOINLINE static void lose_large(void)
{
	for (volatile int i = 0; i < 23; i++)
		block = malloc(300000);
}

NOINLINE static void lose_zeroed(void)
{
	for (volatile int i = 0; i < 37; i++)
		block = calloc(10, 100);
}

NOINLINE static void grow(void)
{
	for (volatile int i = 0; i < 13; i++) {
		block = malloc(50);
		block = realloc(block, 5000);
	}
}

NOINLINE static void pass(void)
{
	for (volatile int i = 0; i < 53; i++) {
		block = malloc(700);
		free(block);
	}
}

NOINLINE static void *lose_in_thread(void *unused)
{
	for (volatile int i = 0; i < 29; i++)
		block = malloc(64);
	return unused;
}

int main(void)
{
	pthread_t thread;

	lose_small();
	lose_large();
	lose_zeroed();
	grow();
	pass();
	if (pthread_create(&thread, NULL, lose_in_thread, NULL) ||
	    pthread_join(thread, NULL) || write(1, "done\n", 5) != 5)
		return 1;
	for (;;)
		pause();
}
