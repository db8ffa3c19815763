/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stacks CALLS: allocates and frees a block at a stack of so many calls, at
 * least 10, from _start to here; prints nanoseconds a pair, the least of 40
 * series.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* pair(), the innermost down(), main, and what calls main. */
#define OTHER_CALLS 6

#define SERIES 40
#define PAIRS 1000

static void *volatile block;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static __attribute__((noinline, noclone)) double pair(void)
{
	double began = now();

	for (int i = 0; i < PAIRS; i++) {
		block = malloc(30000);
		free(block);
	}
	return (now() - began) / PAIRS;
}

static __attribute__((noinline, noclone)) double down(unsigned long depth)
{
	double least, ns;

	if (depth)
		return down(depth - 1) + 0.0;
	least = pair();
	for (int i = 1; i < SERIES; i++) {
		ns = pair();
		least = ns < least ? ns : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	if (calls < 10)
		return 2;
	printf("%.1f\n", down(calls - OTHER_CALLS));
	return 0;
}
