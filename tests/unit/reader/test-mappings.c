/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of a stats file (reader/tables.c) are kept where they are
 * possible; reader/pagemap.c counts what of them is resident.
 */
#include "config.h"

#include "reader/pagemap.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_STACKS 3
#define BASE ((uint64_t)0x7f0000000000)

static struct fixture f;

/* A table behind the file's end. */
static void add(struct kf_stats_section *section, const void *table,
		size_t size, uint32_t nr)
{
	size_t at = KF_ALIGN_UP(f.size, (size_t)64);
	size_t to = (size_t)((char *)section - (char *)f.header);

	f.bytes = realloc(f.bytes, at + nr * size);
	ck_assert_ptr_nonnull(f.bytes);
	memset(f.bytes + f.size, 0, at - f.size);
	memcpy(f.bytes + at, table, nr * size);
	f.header = (void *)f.bytes;
	section = (void *)(f.bytes + to);
	*section =
		(struct kf_stats_section){(uint32_t)at, (uint32_t)size, nr, 0};
	f.size = at + nr * size;
	f.header->total_size = f.size;
}

static struct kf_snapshot mappings_of(const struct kf_stats_mapping *all,
				      uint32_t nr, unsigned int tables)
{
	static const struct kf_stats_stack stacks[NR_STACKS] = {
		{.hash = 1}, {.hash = 0x5000}, {.hash = 0}};
	struct kf_snapshot s;

	support_begin();
	fixture_make(&f, 1);
	add(&f.header->stacks, stacks, sizeof(stacks[0]), NR_STACKS);
	add(&f.header->mappings, all, sizeof(all[0]), nr);
	support_write(&f, "mappings");
	ck_assert_int_eq(kf_snapshot_read_with(AT_FDCWD,
					       support_path("mappings"), tables,
					       &s),
			 KF_READ_OK);
	return s;
}

START_TEST(only_possible_ones_are_kept_by_address)
{
	static const struct kf_stats_mapping all[] = {
		{BASE + 0x30000, BASE + 0x40000, 1, 0},
		{0, BASE, 1, 0}, /* free */
		{BASE, BASE + 0x10000, 1, 0},
		{BASE + 0x38000, BASE + 0x50000, 1, 0}, /* overlaps */
		{BASE + 0x60000, BASE + 0x60000, 1, 0}, /* empty */
		{BASE + 0x70000, BASE + 0x60000, 1, 0},
		{BASE + 0x80000, KF_STATS_MAPPED_END + 1, 1, 0},
		{BASE + 0x90000, BASE + 0xa0000, 0, 0}, /* no stack */
		{BASE + 0xa0000, BASE + 0xb0000, 2, 0}, /* a free one */
		{BASE + 0xb0000, BASE + 0xc0000, 3, 0}, /* behind the last */
	};
	struct kf_snapshot s = mappings_of(all, KF_ARRAY_SIZE(all),
					   KF_TABLE_STACKS | KF_TABLE_MAPPINGS);

	ck_assert_uint_eq(s.nr_mappings, 2);
	ck_assert_mem_eq(&s.mappings[0], &all[2], sizeof(all[0]));
	ck_assert_mem_eq(&s.mappings[1], &all[0], sizeof(all[0]));
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.mappings);
}
END_TEST

START_TEST(older_files_and_other_readers_have_none)
{
	static const struct kf_stats_mapping one = {BASE, BASE + 4096, 1, 0};
	struct kf_snapshot s = mappings_of(&one, 1, KF_TABLE_STACKS);

	ck_assert_uint_eq(s.nr_mappings, 0);
	kf_snapshot_release(&s);
	f.header->minor = 10;
	f.header->header_size = offsetof(struct kf_stats_header, mappings);
	support_write(&f, "mappings");
	ck_assert_int_eq(
		kf_snapshot_read_with(AT_FDCWD, support_path("mappings"),
				      KF_TABLE_STACKS | KF_TABLE_MAPPINGS, &s),
		KF_READ_OK);
	ck_assert_uint_eq(s.nr_mappings, 0);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(resident_pages_are_counted)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 20000 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = (uintptr_t)p, bytes;
	struct kf_pagemap m;

	ck_assert_ptr_ne(p, MAP_FAILED);
	madvise(p, 20000 * page, MADV_NOHUGEPAGE);
	for (size_t i = 10000; i < 10100; i++)
		p[i * page] = 1;
	p[19999 * page] = 1;
	ck_assert(kf_pagemap_open("/proc", getpid(), 50000, &m));
	ck_assert(kf_pagemap_resident(&m, begin, begin + 20000 * page, &bytes));
	ck_assert_uint_eq(bytes, 101 * page);
	ck_assert(kf_pagemap_resident(&m, begin + 10050 * page,
				      begin + 10200 * page, &bytes));
	ck_assert_uint_eq(bytes, 50 * page);
	/* of the pages that may be looked at, 29,850 are left */
	ck_assert(
		!kf_pagemap_resident(&m, begin, begin + 29851 * page, &bytes));
	ck_assert(kf_pagemap_resident(&m, begin, begin + 20000 * page, &bytes));
	kf_pagemap_close(&m);
	munmap(p, 20000 * page);
}
END_TEST

START_TEST(pages_of_files_are_no_anonymous_memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = (uintptr_t)p, bytes;
	struct kf_pagemap m;

	ck_assert_ptr_ne(p, MAP_FAILED);
	memset(p, 1, 16 * page);
	ck_assert(kf_pagemap_open("/proc", getpid(), 16, &m));
	ck_assert(kf_pagemap_resident(&m, begin, begin + 16 * page, &bytes));
	ck_assert_uint_eq(bytes, 0);
	kf_pagemap_close(&m);
	munmap(p, 16 * page);
}
END_TEST

START_TEST(nothing_is_known_of_a_process_that_is_gone)
{
	struct kf_pagemap m;
	uint64_t bytes;

	ck_assert(!kf_pagemap_open("/proc", 0, 16, &m));
	ck_assert(!kf_pagemap_resident(&m, BASE, BASE + 4096, &bytes));
	kf_pagemap_close(&m);
	ck_assert(!kf_pagemap_open("/proc", INT32_MAX, 16, &m));
	kf_pagemap_close(&m);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		only_possible_ones_are_kept_by_address,
		older_files_and_other_readers_have_none,
		resident_pages_are_counted,
		pages_of_files_are_no_anonymous_memory,
		nothing_is_known_of_a_process_that_is_gone,
	};

	return unit_run("reader/mappings", tests, KF_ARRAY_SIZE(tests));
}
