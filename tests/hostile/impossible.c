// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * impossible TURNS asks in each turn, by each name of the malloc family, for
 * more bytes than there are addresses, and prints how many requests failed.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {(size_t)1 << 50,	     (size_t)1 << 52,
			       (size_t)1 << 62,	     (size_t)PTRDIFF_MAX,
			       SIZE_MAX / 2 + 4096,  SIZE_MAX - 4096,
			       ((size_t)1 << 50) + 1};
static size_t nr_failed;

static void fail(const char *what)
{
	fprintf(stderr, "impossible: %s\n", what);
	_Exit(1);
}

static void refused(const void *p)
{
	if (p)
		fail("a block was given");
	if (errno != ENOMEM)
		fail("errno is not ENOMEM");
	nr_failed++;
	errno = 0;
}

static void ask(size_t size, unsigned char *live)
{
	void *p = NULL;

	errno = 0;
	refused(malloc(size));
	refused(calloc(1, size));
	refused(calloc(size / 16 + 1, 16));
	refused(realloc(NULL, size));
	refused(realloc(live, size));
	refused(reallocarray(live, size / 16 + 1, 16));
	refused(memalign(4096, size));
	refused(aligned_alloc(64, size));
	refused(valloc(size));
	if (posix_memalign(&p, 64, size) != ENOMEM)
		fail("posix_memalign returned something else than ENOMEM");
	refused(p);
}

int main(int argc, char **argv)
{
	unsigned char *live = malloc(50000);

	if (argc != 2 || !live)
		return 2;
	memset(live, 7, 50000);
	for (long turn = strtol(argv[1], NULL, 10); turn > 0; turn--)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			ask(sizes[i], live);
	for (size_t i = 0; i < 50000; i++)
		if (live[i] != 7)
			fail("a block has changed");
	free(live);
	printf("%zu\n", nr_failed);
	return 0;
}
