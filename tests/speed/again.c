// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Takes a large block, touches each of its pages and gives it back, again and
 * again; with several sizes in turn.
 *
 * Usage: again TIMES BYTES...
 */
#include <stdio.h>
#include <stdlib.h>

static void once(size_t bytes)
{
	volatile char *block = malloc(bytes);

	if (!block) {
		perror("malloc");
		exit(1);
	}
	for (size_t at = 0; at < bytes; at += 4096)
		block[at] = 1;
	free((void *)block);
}

int main(int argc, char **argv)
{
	unsigned long times = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long turn = 0; turn < times; turn++) {
		for (int i = 2; i < argc; i++)
			once(strtoul(argv[i], NULL, 10));
	}
	return 0;
}
