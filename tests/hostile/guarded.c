// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Blocks of more than 2 KiB in secure mode:
 *
 *	guarded grow		one grows by little to 32 MiB; what is new is
 *zero guarded shrink		one shrinks and grows again in its place guarded
 *stay		realloc to the usable size moves none
 *	guarded beside		one that grew in its place is written beside
 *	guarded wait		a freed one faults, and comes back after others
 *only guarded pairs TURNS	malloc and free again and again guarded
 *addresses	use up the addresses, of which there are 400 MiB guarded
 *mappings	more live blocks than a process has mappings
 *
 * Ends with 1 and says why where something is not so.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static void expect(int fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "guarded: %s\n", what);
	_Exit(1);
}

static int is_all(const unsigned char *p, size_t n, unsigned char byte)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte)
			return 0;
	return 1;
}

/* Whether the kernel can read a byte there. */
static int is_readable(const void *p)
{
	int ends[2], fine;

	expect(!pipe(ends), "pipe");
	fine = write(ends[1], p, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return fine;
}

static void grow(void)
{
	static const size_t steps[] = {64 * KIB, 100 * KIB + 16, 5000};

	for (size_t s = 0; s < 3; s++) {
		unsigned char *p = NULL;
		size_t had = 0;

		for (size_t n = steps[s]; n <= 32 * MIB; n += steps[s]) {
			p = realloc(p, n);
			expect(p != NULL, "realloc gave nothing");
			expect(is_all(p + had, n - had, 0), "new bytes");
			memset(p + had, (int)(n / steps[s] % 255 + 1), n - had);
			expect(malloc_usable_size(p) == n, "usable size");
			had = n;
		}
		for (size_t n = steps[s]; n <= had; n += steps[s])
			expect(is_all(p + n - steps[s], steps[s],
				      (unsigned char)(n / steps[s] % 255 + 1)),
			       "contents");
		free(p);
	}
}

static void shrink(void)
{
	unsigned char *p = malloc(MIB), *q;

	memset(p, 9, MIB);
	for (size_t n = MIB; n > 3000; n -= n / 5) {
		q = realloc(p, n);
		expect(q == p && is_all(p, n, 9), "a shrunk block");
		expect(!is_readable(p + (n + 8192) / 4096 * 4096),
		       "what it had does not fault");
	}
	q = realloc(p, 900 * KIB);
	expect(q == p && is_all(p + 4096, 900 * KIB - 4096, 0),
	       "a block that grows where it shrank");
	free(p);
}

static void stay(void)
{
	for (size_t n = 1; n < 300000; n += 1 + n / 7) {
		char *p = malloc(n);
		uintptr_t was = (uintptr_t)p;

		p = realloc(p, malloc_usable_size(p));
		expect((uintptr_t)p == was, "it moved");
		free(p);
	}
}

static void beside(void)
{
	char *p = malloc(100 * KIB);

	p = realloc(p, 200 * KIB);
	p = realloc(p, 200 * KIB + 100);
	p[malloc_usable_size(p)] = 1;
	free(p);
}

static void wait_for_it(void)
{
	static unsigned char *kept[1000];
	unsigned char *p = malloc(5000);
	uintptr_t was = (uintptr_t)p;
	int back = 0;

	memset(p, 7, 5000);
	expect(is_readable(p), "a live block faults");
	free(p);
	for (int i = 0; i < 1000; i++) {
		expect(!is_readable((void *)was), "a freed block can be read");
		kept[i] = malloc(5000);
		expect((uintptr_t)kept[i] != was, "it comes back at once");
		free(kept[i]);
	}
	for (int i = 0; i < 100000; i++) {
		size_t n = 4999 + (size_t)(i % 3);

		p = malloc(n);
		expect(is_all(p, n, 0), "a block that was used before");
		back += (uintptr_t)p == was;
		memset(p, 7, n);
		free(p);
	}
	expect(back, "it never comes back");
}

static void pairs(long turns)
{
	for (; turns > 0; turns--)
		free(malloc(5000));
}

static void addresses(void)
{
	size_t nr = 0;

	for (unsigned char *p; (p = malloc(5000)); nr++) {
		expect(is_all(p, 5000, 0), "a block is not zero");
		memset(p, 1, 5000);
	}
	expect(errno == ENOMEM, "errno is not ENOMEM");
	expect(nr * 5000 > 100 * MIB, "most addresses are not used");
}

static void mappings(void)
{
	size_t nr = 80000;
	unsigned char **p = calloc(nr, sizeof(*p));

	for (size_t i = 0; i < nr; i++) {
		p[i] = malloc(3000 + i % 50);
		expect(p[i] != NULL, "a block is not given");
		memset(p[i], (int)(i % 251), 3000);
	}
	for (int i = 0; i < 1000; i++)
		expect(mmap(NULL, 8192, i % 2 ? PROT_NONE : PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED,
		       "no mapping is left");
	for (size_t i = 0; i < nr; i++) {
		expect(is_all(p[i], 3000, (unsigned char)(i % 251)),
		       "contents");
		p[i] = realloc(p[i], 6000);
		expect(p[i] && is_all(p[i], 3000, (unsigned char)(i % 251)),
		       "contents after realloc");
	}
	for (size_t i = 0; i < nr; i++)
		free(p[i]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "grow"))
		grow();
	else if (!strcmp(what, "shrink"))
		shrink();
	else if (!strcmp(what, "stay"))
		stay();
	else if (!strcmp(what, "beside"))
		beside();
	else if (!strcmp(what, "wait"))
		wait_for_it();
	else if (!strcmp(what, "pairs") && argc > 2)
		pairs(strtol(argv[2], NULL, 10));
	else if (!strcmp(what, "addresses"))
		addresses();
	else if (!strcmp(what, "mappings"))
		mappings();
	else
		return 2;
	return 0;
}
