// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Has a heap of many small blocks, each touched, and says what the kernel
 * thinks of the process' memory.
 *
 * Usage: heap BYTES
 *
 * Prints kB that huge pages were asked for, kB that are huge now, kB resident.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1000

static unsigned long number(const char *line, const char *name)
{
	size_t length = strlen(name);

	return strncmp(line, name, length) ? 0
					   : strtoul(line + length, NULL, 10);
}

static int tell(void)
{
	unsigned long size = 0, asked = 0, huge = 0, resident = 0;
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[4096];

	if (!f) {
		perror("/proc/self/smaps");
		return 1;
	}
	while (fgets(line, sizeof(line), f)) {
		if (number(line, "Size:"))
			size = number(line, "Size:");
		huge += number(line, "AnonHugePages:");
		resident += number(line, "Rss:");
		if (!strncmp(line, "VmFlags:", 8) && strstr(line, " hg"))
			asked += size;
	}
	fclose(f);
	printf("%lu %lu %lu\n", asked, huge, resident);
	return 0;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (size_t taken = 0; taken < bytes; taken += BLOCK) {
		char *block = malloc(BLOCK);

		if (!block) {
			perror("malloc");
			return 1;
		}
		/* Never given back: the process ends with them. */
		memset(block, 1, BLOCK);
	}
	return tell();
}
