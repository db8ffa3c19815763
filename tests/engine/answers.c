// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Prints what calls of the malloc family answer, and which errno they leave, as
 * far as that is no matter of where blocks lie.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED ((void *)8)

static void *block(const char *what, size_t n, void *p)
{
	int error = errno;

	printf("%s %zu: %s, errno %d\n", what, n, p ? "a block" : "NULL",
	       error);
	errno = 77;
	return p;
}

static void number(const char *what, long n, long answer)
{
	int error = errno;

	printf("%s %ld: %ld, errno %d\n", what, n, answer, error);
	errno = 77;
}

static void aligned(size_t align, size_t size)
{
	void *p = UNTOUCHED;

	printf("alignment %zu\n", align);
	free(block("memalign", size, memalign(align, size)));
	free(block("aligned_alloc", size, aligned_alloc(align, size)));
	number("posix_memalign", (long)size, posix_memalign(&p, align, size));
	printf("%s\n", p == UNTOUCHED ? "untouched" : "written");
	if (p != UNTOUCHED)
		free(p);
}

static void sized(size_t size)
{
	void *p;

	p = block("malloc", size, malloc(size));
	number("usable", (long)size, malloc_usable_size(p) >= size);
	p = block("realloc", size / 2 + 1, realloc(p, size / 2 + 1));
	p = block("realloc", size * 2 + 1, realloc(p, size * 2 + 1));
	block("realloc", 0, realloc(p, 0));
	p = block("calloc", size, calloc(size, 1));
	p = block("reallocarray", size, reallocarray(p, size / 8 + 1, 8));
	block("reallocarray", SIZE_MAX, reallocarray(p, SIZE_MAX / 4, 5));
	free(p);
	free(block("realloc of NULL", size, realloc(NULL, size)));
	free(block("valloc", size, valloc(size)));
	free(block("pvalloc", size, pvalloc(size)));
}

/* By a size that no compiler knows. */
static size_t hide(size_t size)
{
	__asm__ volatile("" : "+r"(size));
	return size;
}

static void too_large(size_t size)
{
	void *p = malloc(10);

	block("malloc", size, malloc(hide(size)));
	block("calloc", size, calloc(hide(size), 2));
	block("realloc of NULL", size, realloc(NULL, hide(size)));
	block("realloc", size, realloc(p, hide(size)));
	block("valloc", size, valloc(hide(size)));
	block("pvalloc", size, pvalloc(hide(size)));
	aligned(64, hide(size));
	aligned(hide(size), 10);
	free(p);
}

static void tune(int param)
{
	static const int values[] = {-1,   0,	    1,	     80,     161,
				     4096, 1 << 20, 1 << 26, 1 << 30};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		number("mallopt", values[i], mallopt(param, values[i]));
}

int main(void)
{
	static const size_t sizes[] = {0,    1,	   16,	  24,	  100,
				       1032, 4096, 65535, 200000, 5000000};
	static const size_t aligns[] = {0,  1,	2,  3,	 4,    8,      16,
					24, 32, 48, 100, 4096, 1 << 20};
	static const size_t large[] = {SIZE_MAX, SIZE_MAX - 16, PTRDIFF_MAX,
				       (size_t)PTRDIFF_MAX + 1,
				       (size_t)1 << 50};
	static const int params[] = {M_MMAP_THRESHOLD,
				     M_MMAP_MAX,
				     M_TRIM_THRESHOLD,
				     M_TOP_PAD,
				     M_CHECK_ACTION,
				     M_ARENA_MAX,
				     M_ARENA_TEST,
				     M_MXFAST,
				     M_PERTURB,
				     99,
				     -99};

	errno = 77;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sized(sizes[i]);
		for (size_t k = 0; k < sizeof(aligns) / sizeof(aligns[0]); k++)
			aligned(aligns[k], sizes[i]);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		too_large(large[i]);
	number("usable of NULL", 0, (long)malloc_usable_size(NULL));
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		tune(params[i]);
	free(NULL);
	number("free", 0, 0);
	return 0;
}
