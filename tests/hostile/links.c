// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes over the link of a free block and allocates on.
 *
 * Usage: links BYTES own|other zero|number|text|decoy|block
 *
 * BYTES of each block; who frees the blocks: the thread that made them, or
 * another; what is written. Prints the address of the damaged block, and
 * whether a decoy was handed out if it comes to its end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR 200
#define NR_LATER 20000

static void *block[NR];
static uintptr_t decoy[16] __attribute__((aligned(64)));

/* Of two neighbours one stays: slabs without any would go as they are. */
static void *free_half(void *arg)
{
	for (int i = 0; i < NR; i += 2)
		free(block[i]);
	return arg;
}

static uintptr_t value_of(const char *name)
{
	if (strcmp(name, "zero") == 0)
		return 0;
	if (strcmp(name, "number") == 0)
		return 5;
	if (strcmp(name, "text") == 0)
		return 0x6b6e696c20656874;
	if (strcmp(name, "decoy") == 0)
		return (uintptr_t)decoy;
	return (uintptr_t)block[NR / 2];
}

int main(int argc, char **argv)
{
	size_t size = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	volatile uintptr_t *damaged;
	pthread_t thread;
	int given = 0;

	if (!size) {
		fputs("usage: links BYTES own|other VALUE\n", stderr);
		return 2;
	}
	for (int i = 0; i < NR; i++)
		*(int *)(block[i] = malloc(size)) = i + 100;
	damaged = block[NR - 4];
	printf("%p\n", (void *)damaged);
	fflush(stdout);
	if (strcmp(argv[2], "own") == 0) {
		free_half(NULL);
	} else if (pthread_create(&thread, NULL, free_half, NULL) ||
		   pthread_join(thread, NULL)) {
		return 1;
	}
	*damaged = value_of(argv[3]);
	for (int i = 0; i < NR_LATER; i++)
		given |= malloc(size) == decoy;
	puts(given ? "the decoy was handed out" : "went on");
	return given;
}
