/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the ground floor share. Each test runs in a process of its
 * own, so each starts with a floor that was never used.
 */
#ifndef KF_TESTS_UNIT_PAGES_SUPPORT_H
#define KF_TESTS_UNIT_PAGES_SUPPORT_H

#include <sys/mman.h>

#include "pages/internal.h"
#include "tests/unit/unit.h"

#define NEVER_MS ((uint32_t)1 << 30)

/**
 * floor_start_of() - a fresh floor that purges nothing by itself
 * @region_bytes:	of its first region
 *
 * Context: the beginning of a test; the test may then change kf_pages_conf.
 */
static inline void floor_start_of(size_t region_bytes)
{
	kf_stats_init();
	kf_pages_conf.purge_ms = NEVER_MS;
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.region_bytes = region_bytes;
	kf_pages_init();
}

/**
 * floor_start() - floor_start_of(), one region for all of a test
 *
 * Context: as floor_start_of().
 */
static inline void floor_start(void)
{
	floor_start_of(32 * KF_MIB);
}

/**
 * floor_check() - fail unless every invariant of the floor holds
 *
 * Context: any thread.
 * Return: what the walk of all runs saw.
 */
static inline struct kf_pages_sums floor_check(void)
{
	struct kf_pages_sums sums;
	const char *wrong = kf_pages_check(&sums);

	if (wrong)
		ck_abort_msg("%s", wrong);
	return sums;
}

/**
 * floor_take() - a large run that the kernel must have memory for
 * @nr_pages:	pages wanted
 * @align_pages: power of two
 *
 * Context: any thread.
 * Return: the run.
 */
static inline struct kf_run *floor_take(size_t nr_pages, size_t align_pages)
{
	bool zeroed;
	struct kf_run *run;

	run = kf_pages_alloc(nr_pages, align_pages, KF_RUN_LARGE, &zeroed);
	UNIT_REQUIRE(run);
	UNIT_REQUIRE(run->nr_pages == nr_pages);
	UNIT_REQUIRE((uintptr_t)run->start % (align_pages * KF_PAGE) == 0);
	return run;
}

/**
 * nr_resident() - pages that the kernel keeps memory for
 * @start:	first page
 * @nr_pages:	how many, at most 4096
 *
 * Context: any thread.
 * Return: pages; -1 where some are not mapped at all.
 */
static inline int nr_resident(char *start, size_t nr_pages)
{
	unsigned char in_core[4096];
	int nr = 0;

	UNIT_REQUIRE(nr_pages <= sizeof(in_core));
	if (mincore(start, nr_pages * KF_PAGE, in_core))
		return -1;
	for (size_t i = 0; i < nr_pages; i++)
		nr += in_core[i] & 1;
	return nr;
}

#endif
