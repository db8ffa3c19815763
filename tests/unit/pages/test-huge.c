/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/region.c: where huge pages are asked for, read in /proc/self/smaps.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/pages/support.h"

#define MIB_PAGES (KF_MIB / KF_PAGE)

/* Bytes from @start to @end that huge pages were asked for. */
static size_t huge_bytes(const char *start, const char *end)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t from = 0, to = 0;
	unsigned long first, last;
	size_t bytes = 0;
	char line[4096];
	char perms[8];

	UNIT_REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &first, &last, perms) == 3) {
			from = KF_MAX(first, (uintptr_t)start);
			to = KF_MIN(last, (uintptr_t)end);
		} else if (!strncmp(line, "VmFlags:", 8) &&
			   strstr(line, " hg") && from < to) {
			bytes += to - from;
		}
	}
	fclose(f);
	return bytes;
}

static struct kf_region *region_of(const struct kf_run *run)
{
	UNIT_REQUIRE(run->region);
	return run->region;
}

static char *committed_end(const struct kf_region *region)
{
	return region->base + ((size_t)region->committed << KF_PAGE_SHIFT);
}

static char *reserved_end(const struct kf_region *region)
{
	return region->base + ((size_t)region->nr_pages << KF_PAGE_SHIFT);
}

/* That all of the region is huge that may be, and nothing else. */
static void check_huge(struct kf_region *region)
{
	uintptr_t first = KF_ALIGN_UP((uintptr_t)region->base, KF_HUGE_PAGE);
	uintptr_t last =
		KF_ALIGN_DOWN((uintptr_t)committed_end(region), KF_HUGE_PAGE);

	UNIT_REQUIRE(last > first);
	ck_assert_uint_eq(huge_bytes((char *)first, (char *)last),
			  last - first);
	ck_assert_uint_eq(huge_bytes((char *)region, reserved_end(region)),
			  last - first);
	floor_check();
}

static struct kf_region *take_pages(size_t nr_pages, size_t step,
				    struct kf_run **runs)
{
	struct kf_region *region = NULL;

	for (size_t i = 0; i < nr_pages / step; i++) {
		runs[i] = floor_take(step, 1);
		if (!region)
			region = region_of(runs[i]);
		ck_assert_ptr_eq(region_of(runs[i]), region);
	}
	return region;
}

START_TEST(large_region_is_huge_where_it_is_whole)
{
	struct kf_run *runs[24];

	floor_start();
	kf_pages_conf.huge = true;
	check_huge(take_pages(24 * MIB_PAGES, MIB_PAGES, runs));
}
END_TEST

START_TEST(each_huge_page_is_whole_before_it_is_touched)
{
	struct kf_run *runs[12 * MIB_PAGES / 16];
	struct kf_region *region;
	int nr = 0;

	floor_start();
	kf_pages_conf.huge = true;
	region = take_pages(12 * MIB_PAGES, 16, runs);
	check_huge(region);
	/* As far as whole ones go. */
	while (committed_end(region) + 3 * KF_HUGE_PAGE <
	       reserved_end(region)) {
		struct kf_run *run = floor_take(16, 1);
		char *unit = (char *)KF_ALIGN_DOWN((uintptr_t)run->start,
						   KF_HUGE_PAGE);

		ck_assert_ptr_eq(region_of(run), region);
		ck_assert_uint_eq(huge_bytes(unit, unit + KF_HUGE_PAGE),
				  KF_HUGE_PAGE);
		nr++;
	}
	ck_assert_int_gt(nr, 32);
}
END_TEST

START_TEST(small_region_has_no_huge_page)
{
	struct kf_run *runs[6];
	struct kf_region *region;

	floor_start();
	kf_pages_conf.huge = true;
	region = take_pages(6 * MIB_PAGES, MIB_PAGES, runs);
	ck_assert_uint_eq(huge_bytes((char *)region, reserved_end(region)), 0);
}
END_TEST

START_TEST(unless_wanted_there_is_no_huge_page)
{
	struct kf_run *runs[24];
	struct kf_region *region;

	floor_start();
	region = take_pages(24 * MIB_PAGES, MIB_PAGES, runs);
	ck_assert_uint_eq(huge_bytes((char *)region, reserved_end(region)), 0);
}
END_TEST

START_TEST(what_is_committed_again_is_huge_again)
{
	struct kf_run *runs[24];
	struct kf_region *region;

	floor_start();
	kf_pages_conf.huge = true;
	region = take_pages(24 * MIB_PAGES, MIB_PAGES, runs);
	for (int i = 11; i < 24; i++)
		kf_pages_free(runs[i]);
	kf_pages_trim(0);
	ck_assert_uint_lt(region->committed, 12 * MIB_PAGES);
	ck_assert_ptr_eq(take_pages(12 * MIB_PAGES, MIB_PAGES, runs), region);
	check_huge(region);
}
END_TEST

START_TEST(head_and_pages_stay_usable)
{
	struct kf_run *runs[24];

	floor_start();
	kf_pages_conf.huge = true;
	take_pages(24 * MIB_PAGES, MIB_PAGES, runs);
	for (int i = 0; i < 24; i++)
		memset(runs[i]->start, 1, kf_run_bytes(runs[i]));
	for (int i = 0; i < 24; i += 2)
		kf_pages_free(runs[i]);
	ck_assert_uint_ge(kf_pages_trim(0), 12 * KF_MIB);
	for (int i = 0; i < 24; i += 2)
		ck_assert_int_eq(runs[i + 1]->start[KF_PAGE], 1);
	floor_check();
}
END_TEST

static bool kernel_has_huge_pages(void)
{
	void *p = kf_vm_map(KF_HUGE_PAGE, KF_HUGE_PAGE);
	bool has = p && kf_vm_huge(p, KF_HUGE_PAGE);

	if (p)
		kf_vm_drop(p, KF_HUGE_PAGE);
	return has;
}

int main(void)
{
	const TTest *const tests[] = {
		large_region_is_huge_where_it_is_whole,
		each_huge_page_is_whole_before_it_is_touched,
		small_region_has_no_huge_page,
		unless_wanted_there_is_no_huge_page,
		what_is_committed_again_is_huge_again,
		head_and_pages_stay_usable,
	};

	if (!kernel_has_huge_pages()) {
		puts("SKIP: the kernel has no transparent huge pages");
		return 77;
	}
	return unit_run("pages/huge", tests, KF_ARRAY_SIZE(tests));
}
