/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mixed: leaks blocks of 256 bytes beside others above 1 KiB that come and go,
 * and says how many bytes it leaked.
 */
#include <stdio.h>
#include <stdlib.h>

#define NR 200000

static void *volatile kept;

int main(void)
{
	void *others[64] = {0};
	unsigned int seed = 1;

	for (int i = 0; i < NR; i++) {
		kept = malloc(256);
		for (int j = 0; j < 3; j++) {
			void **at;

			seed = seed * 1103515245 + 12345;
			at = &others[(seed >> 8) % 64];
			free(*at);
			*at = malloc(1100 + (seed >> 10) % 4000);
		}
	}
	for (int i = 0; i < 64; i++)
		free(others[i]);
	printf("%d\n", NR * 256);
	return 0;
}
