// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * stale BYTES: live blocks hold what free ones hold, as where a program copies
 * or resizes a block that it has not written. The bytes are copied here from
 * blocks that another thread freed; then the owner and another thread free the
 * live ones. Nothing is freed twice.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 3000

static size_t bytes;
static char *block[BLOCKS];

static void *free_each_third(void *first)
{
	for (size_t i = (uintptr_t)first; i < BLOCKS; i += 3)
		free(block[i]);
	return NULL;
}

static void elsewhere(void *run(void *), uintptr_t arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)arg))
		_Exit(2);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (bytes < 2 * sizeof(void *))
		return 2;
	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = malloc(bytes);
		if (!block[i])
			return 2;
		memset(block[i], 0x55, bytes);
	}
	elsewhere(free_each_third, 0);
	for (size_t i = 0; i < BLOCKS; i += 3) {
		memcpy(block[i + 1], block[i], bytes);
		memcpy(block[i + 2], block[i], bytes);
	}
	elsewhere(free_each_third, 1);
	free_each_third((void *)2);
	return 0;
}
