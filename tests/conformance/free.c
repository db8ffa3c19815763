/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * free and its kin: NULL, errno, and a kernel that refuses to unmap because
 * the process has all the mappings it may have (vm.max_map_count).
 */
#include "case.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

CASE(free_of_null_does_nothing)
{
	errno = EXDEV;
	free(kf_ptr(NULL));
	CHECK_EQ(errno, EXDEV);
}

CASE(free_keeps_errno_for_every_size)
{
	for (size_t n = 1; n < 256 * KF_MIB_BYTES; n += 1 + n / 2) {
		void *p = malloc(n), *q = malloc(n);

		CHECK(p && q);
		errno = EXDEV;
		free(p);
		CHECK_EQ(errno, EXDEV);
		errno = 0;
		free(q);
		CHECK_EQ(errno, 0);
	}
}

CASE(free_takes_every_kind_of_block)
{
	void *p;

	for (int i = 0; i < 200; i++) {
		free(malloc(i));
		free(calloc(i, 3));
		free(realloc(NULL, i));
		free(reallocarray(NULL, i, 2));
		CHECK(!posix_memalign(&p, 64, i));
		free(p);
		free(memalign(128, i));
		free(aligned_alloc(256, i));
		free(valloc(i));
		free(pvalloc(i));
	}
}

CASE(free_sized_frees)
{
	void (*free_sized_f)(void *, size_t) = kf_symbol("free_sized");

	for (size_t n = 0; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		errno = EXDEV;
		free_sized_f(malloc(n), n);
		free_sized_f(calloc(1, n), n);
		CHECK_EQ(errno, EXDEV);
	}
	free_sized_f(NULL, 0);
	free_sized_f(NULL, 100);
}

CASE(free_aligned_sized_frees)
{
	void (*free_aligned_sized_f)(void *, size_t, size_t) =
		kf_symbol("free_aligned_sized");

	for (size_t align = 16; align <= KF_MIB_BYTES; align *= 2) {
		errno = EXDEV;
		free_aligned_sized_f(aligned_alloc(align, align), align, align);
		CHECK_EQ(errno, EXDEV);
	}
	free_aligned_sized_f(NULL, 64, 0);
	free_aligned_sized_f(NULL, 64, 64);
}

CASE(cfree_frees)
{
	void (*cfree_f)(void *) = kf_symbol("cfree");

	for (size_t n = 0; n < 3 * KF_MIB_BYTES; n += 1 + n / 3) {
		errno = EXDEV;
		cfree_f(malloc(n));
		CHECK_EQ(errno, EXDEV);
	}
	cfree_f(NULL);
}

static size_t max_map_count(void)
{
	char text[32];
	size_t max;

	if (kf_read_file("/proc/sys/vm/max_map_count", text, sizeof(text)) <= 0)
		kf_case_skip("/proc/sys/vm/max_map_count cannot be read");
	max = strtoul(text, NULL, 10);
	if (max > 1100000)
		kf_case_skip("vm.max_map_count is over 1100000");
	return max;
}

struct maps {
	char *area;
	size_t bytes;
};

/* Take every mapping the process may have, by single pages that differ. */
static struct maps exhaust_maps(void)
{
	size_t pages = max_map_count() + 16, i;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct maps m = {.bytes = pages * page};
	char *probe = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	m.area = mmap(NULL, m.bytes, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(m.area != MAP_FAILED && probe != MAP_FAILED);
	for (i = 0; i < pages; i += 2)
		if (mprotect(m.area + i * page, page, PROT_READ))
			break;
	/* One split may be left, too few for a page in the middle. */
	if (i + 2 < pages)
		mprotect(m.area + (i + 1) * page, (pages - i - 1) * page,
			 PROT_WRITE);
	if (!munmap(probe + page, page))
		kf_case_skip("the kernel gives more than vm.max_map_count");
	return m;
}

#define NR_MAPPED 64

CASE(free_keeps_errno_when_munmap_fails_at_max_map_count)
{
	unsigned char *p[NR_MAPPED];
	size_t n = 256 << 10;
	struct maps m;

	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 128 << 10), 1);
	for (int i = 0; i < NR_MAPPED; i++) {
		p[i] = malloc(n);
		CHECK(p[i]);
		kf_fill(p[i], n, i);
	}
	m = exhaust_maps();
	/* In the middle first: each one is a mapping more. */
	for (int i = 1; i < NR_MAPPED; i += 2) {
		errno = EXDEV;
		free(p[i]);
		CHECK_EQ(errno, EXDEV);
	}
	for (int i = 0; i < NR_MAPPED; i += 2) {
		CHECK(kf_filled(p[i], n, i));
		free(p[i]);
		CHECK_EQ(errno, EXDEV);
	}
	munmap(m.area, m.bytes);
	for (int i = 0; i < NR_MAPPED; i++) {
		p[i] = malloc(n);
		CHECK(p[i]);
		kf_fill(p[i], n, i);
	}
	for (int i = 0; i < NR_MAPPED; i++)
		CHECK(kf_filled(p[i], n, i));
}

CASE(malloc_at_max_map_count_gives_a_block_or_enomem)
{
	struct maps m;
	char *p = malloc(1);

	m = exhaust_maps();
	for (size_t n = 1; n < 512 * KF_MIB_BYTES; n += n) {
		for (int i = 0; i < 20; i++) {
			errno = 0;
			p = malloc(n);
			if (p)
				p[0] = p[n - 1] = 1;
			else
				CHECK_EQ(errno, ENOMEM);
			if (i % 2)
				free(p);
		}
	}
	munmap(m.area, m.bytes);
	p = malloc(KF_MIB_BYTES);
	CHECK(p);
	memset(p, 1, KF_MIB_BYTES);
}

CASE(realloc_at_max_map_count_keeps_the_block)
{
	size_t n = 300 << 10;
	unsigned char *p = malloc(n);
	struct maps m;

	CHECK(p);
	kf_fill(p, n, 7);
	m = exhaust_maps();
	for (size_t want = 2 * n; want < 512 * KF_MIB_BYTES; want *= 2) {
		unsigned char *q = realloc(p, want);

		if (q)
			p = q;
		CHECK(kf_filled(p, n, 7));
	}
	for (size_t want = 16 * KF_MIB_BYTES; want > n; want /= 2) {
		unsigned char *q = realloc(p, want);

		if (q)
			p = q;
		CHECK(kf_filled(p, n, 7));
	}
	free(p);
	munmap(m.area, m.bytes);
}

CASE(malloc_trim_at_max_map_count_does_no_harm)
{
	static char *p[2000];
	struct maps m;

	for (int i = 0; i < 2000; i++) {
		p[i] = malloc(10000);
		CHECK(p[i]);
		kf_fill(p[i], 10000, i);
	}
	m = exhaust_maps();
	for (int i = 0; i < 2000; i += 1 + (i % 3 != 0))
		free(p[i]), p[i] = NULL;
	malloc_trim(0);
	munmap(m.area, m.bytes);
	for (int i = 0; i < 2000; i++)
		if (p[i])
			CHECK(kf_filled(p[i], 10000, i));
}
