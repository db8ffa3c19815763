// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * tuned SIZE: prints what became of a block of so many bytes: how many blocks
 * are mapped, how many MiB the other memory of the heap has, the last byte of a
 * new small block, and how many blocks are mapped when it was freed and had
 * again.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t size = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned char *small = malloc(24);
	char *volatile p = malloc(size);
	struct mallinfo2 first = mallinfo2(), then;

	free(p);
	p = malloc(size);
	then = mallinfo2();
	if (!small || !p)
		return 1;
	printf("%zu %zu %d %zu\n", first.hblks, first.arena >> 20, small[23],
	       then.hblks);
	return 0;
}
