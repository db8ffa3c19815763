// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * locked BYTES: locks all memory, what is to come as well, with a limit of so
 * many bytes (RLIMIT_MEMLOCK) that holds for it, and uses some more. Reserved
 * addresses count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOBODY 65534
#define NR_BLOCKS 1000

static void fail(const char *what)
{
	perror(what);
	_Exit(1);
}

int main(int argc, char **argv)
{
	rlim_t limit = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){limit, limit}))
		fail("setrlimit");
	/* root may lock all it wants */
	if (getuid() == 0 && setuid(NOBODY))
		fail("setuid");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall");
	for (int i = 0; i < NR_BLOCKS; i++) {
		void *p = malloc(1 + (size_t)i);

		if (!p)
			fail("malloc");
		memset(p, 1, 1 + (size_t)i);
	}
	return 0;
}
