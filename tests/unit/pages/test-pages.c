/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages/pages.c, region.c and tree.c: runs are split, merged and found.
 *
 * kf_pages_check() walks all pages of all regions. Beside it stands what it
 * cannot see: that no two owners have a page in common, and that the run found
 * is the lowest, against a search of every page from the first.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/pages/support.h"

#define NR_RUNS 300

/* One run of a random test; each of its pages holds @tag. */
struct owned {
	struct kf_run *run;
	uint64_t tag;
	size_t nr_pages;
};

static uint64_t *page_of(const struct kf_run *run, size_t i)
{
	return (uint64_t *)(run->start + i * KF_PAGE);
}

static void tag(struct owned *owned, size_t from)
{
	for (size_t i = from; i < owned->nr_pages; i++)
		*page_of(owned->run, i) = owned->tag;
}

static void check_tags(const struct owned *owned)
{
	UNIT_REQUIRE(owned->run->nr_pages == owned->nr_pages);
	for (size_t i = 0; i < owned->nr_pages; i++)
		UNIT_REQUIRE(*page_of(owned->run, i) == owned->tag);
}

static void check_zero(const struct owned *owned, size_t from)
{
	for (size_t i = from; i < owned->nr_pages; i++)
		UNIT_REQUIRE(*page_of(owned->run, i) == 0);
}

static __thread unsigned int nr_partly_fresh;

/* Those pages at its end that are said to be zero are. */
static void check_fresh(const struct owned *owned, bool zeroed)
{
	struct kf_run *run = owned->run;

	if (zeroed)
		check_zero(owned, 0);
	if (run->kind != KF_RUN_LARGE)
		return;
	UNIT_REQUIRE((run->fresh == run->nr_pages) == zeroed);
	check_zero(owned, run->nr_pages - run->fresh);
	nr_partly_fresh += run->fresh && !zeroed;
}

static void take(struct owned *owned, uint64_t *state)
{
	bool slab = chance_below(state, 3) == 0;
	size_t align = (size_t)1 << chance_below(state, 7);
	bool zeroed = false;

	owned->nr_pages = 1 + chance_below(state, 70);
	if (chance_below(state, 2))
		align = 1;
	if (slab) {
		align = KF_GRANULE_PAGES;
		owned->nr_pages = 1 + chance_below(state, 12);
	}
	owned->tag = chance_next(state);
	owned->run = kf_pages_alloc(owned->nr_pages, align,
				    slab ? KF_RUN_SLAB : KF_RUN_LARGE, &zeroed);
	UNIT_REQUIRE(owned->run);
	UNIT_REQUIRE((uintptr_t)owned->run->start % (align * KF_PAGE) == 0);
	check_fresh(owned, zeroed);
	tag(owned, 0);
}

static void resize(struct owned *owned, uint64_t *state)
{
	size_t nr_pages = 1 + chance_below(state, 70);
	size_t old = owned->nr_pages;

	if (owned->run->kind != KF_RUN_LARGE ||
	    !kf_pages_resize(owned->run, nr_pages))
		return;
	owned->nr_pages = nr_pages;
	tag(owned, old);
	check_tags(owned);
}

static void operate(struct owned *owned, uint64_t *state)
{
	if (!owned->run) {
		take(owned, state);
		return;
	}
	check_tags(owned);
	if (chance_below(state, 3) == 0) {
		resize(owned, state);
		return;
	}
	kf_pages_free(owned->run);
	owned->run = NULL;
}

static void free_all(struct owned *owned)
{
	for (size_t i = 0; i < NR_RUNS; i++) {
		if (!owned[i].run)
			continue;
		check_tags(&owned[i]);
		kf_pages_free(owned[i].run);
		owned[i].run = NULL;
	}
}

/* What the floor counts as in use is what the owners have. */
static void check_owned(const struct owned *owned)
{
	struct kf_pages_sums sums = floor_check();
	size_t nr_pages[KF_RUN_MAPPED + 1] = {0};

	for (size_t i = 0; i < NR_RUNS; i++) {
		if (owned[i].run)
			nr_pages[owned[i].run->kind] += owned[i].nr_pages;
	}
	UNIT_REQUIRE(sums.slabs == nr_pages[KF_RUN_SLAB] * KF_PAGE);
	UNIT_REQUIRE(sums.large == nr_pages[KF_RUN_LARGE] * KF_PAGE);
}

START_TEST(splitting_and_coalescing_lose_no_byte)
{
	static struct owned owned[NR_RUNS];
	struct kf_pages_sums sums;
	uint64_t state = 1;

	floor_start();
	for (int i = 0; i < 40000; i++) {
		operate(&owned[chance_below(&state, NR_RUNS)], &state);
		if (i % 50 == 0)
			check_owned(owned);
		if (i % 500 == 0)
			kf_pages_trim(0);
	}
	ck_assert_uint_gt(nr_partly_fresh, 100);
	ck_assert_uint_gt(kf_word_get(KF_WORD_splits), 1000);
	ck_assert_uint_gt(kf_word_get(KF_WORD_coalesces), 1000);
	free_all(owned);
	sums = floor_check();
	ck_assert_uint_eq(sums.free, sums.committed);
	ck_assert_uint_eq(sums.slabs + sums.large, 0);
}
END_TEST

START_TEST(trim_of_an_unused_floor_leaves_only_metadata)
{
	static struct owned owned[NR_RUNS];
	struct kf_pages_sums sums;
	uint64_t state = 2;

	floor_start();
	for (int i = 0; i < 3000; i++)
		operate(&owned[chance_below(&state, NR_RUNS)], &state);
	free_all(owned);
	ck_assert_uint_gt(kf_pages_trim(0), 0);
	sums = floor_check();
	ck_assert_uint_eq(sums.dirty, 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped) -
				  kf_word_get(KF_WORD_purged),
			  kf_word_get(KF_WORD_metadata));
}
END_TEST

START_TEST(freed_neighbours_become_one_run)
{
	struct kf_run *runs[3], *fence;
	uint64_t defrags;
	char *start;

	floor_start();
	for (int i = 0; i < 3; i++)
		runs[i] = floor_take(4, 1);
	fence = floor_take(1, 1);
	start = runs[0]->start;
	ck_assert_ptr_eq(runs[1]->start, start + 4 * KF_PAGE);
	ck_assert_ptr_eq(runs[2]->start, start + 8 * KF_PAGE);

	defrags = kf_word_get(KF_WORD_defrags);
	kf_pages_free(runs[0]);
	kf_pages_free(runs[2]);
	ck_assert_uint_eq(kf_word_get(KF_WORD_defrags), defrags);
	kf_pages_free(runs[1]);
	ck_assert_uint_eq(kf_word_get(KF_WORD_defrags), defrags + 2);
	floor_check();
	ck_assert_ptr_eq(floor_take(12, 1)->start, start);
	kf_pages_free(fence);
	floor_check();
}
END_TEST

/* The lowest free run with at least @nr_pages, or with so many dirty ones,
 * found page by page.
 */
static char *lowest_free(size_t nr_pages, bool dirty)
{
	struct kf_list *pos;
	char *found = NULL;

	kf_list_for_each(pos, &kf_pages.regions) {
		struct kf_region *region =
			kf_container_of(pos, struct kf_region, link);
		uint32_t i = 0;

		while (i < region->committed) {
			struct kf_run *run = region->page[i];
			size_t has = dirty ? run->dirty : run->nr_pages;

			if (run->kind == KF_RUN_FREE && has >= nr_pages &&
			    (!found || run->start < found))
				found = run->start;
			i += run->nr_pages;
		}
	}
	return found;
}

START_TEST(lowest_run_that_fits_is_taken)
{
	static struct owned owned[NR_RUNS];
	uint64_t state = 3;
	int nr_found = 0;

	floor_start();
	for (int i = 0; i < 20000; i++) {
		struct owned *one = &owned[chance_below(&state, NR_RUNS)];
		char *lowest;

		if (one->run || chance_below(&state, 2)) {
			operate(one, &state);
			continue;
		}
		one->nr_pages = 1 + chance_below(&state, 70);
		lowest = lowest_free(one->nr_pages, true);
		if (!lowest)
			lowest = lowest_free(one->nr_pages, false);
		one->run = floor_take(one->nr_pages, 1);
		tag(one, 0);
		if (!lowest)
			continue;
		UNIT_REQUIRE(one->run->start == lowest);
		nr_found++;
	}
	ck_assert_int_gt(nr_found, 1000);
}
END_TEST

START_TEST(aligned_run_starts_at_a_multiple)
{
	floor_start();
	for (size_t align = 1; align <= 4096; align *= 2) {
		for (size_t nr = 1; nr <= 64; nr += 21) {
			struct kf_run *before = floor_take(3, 1);

			floor_take(nr, align);
			kf_pages_free(before);
		}
		floor_check();
	}
}
END_TEST

#define HOLE 4

/* Holes of some pages each, none of which begins at a multiple of these. */
static void make_misaligned_holes(unsigned int nr)
{
	struct kf_run *run[64];

	for (unsigned int i = 0; i < nr; i++) {
		do
			run[i] = floor_take(HOLE, 1);
		while ((uintptr_t)run[i]->start % (HOLE * KF_PAGE) == 0);
		floor_take(1, 1);
	}
	for (unsigned int i = 0; i < nr; i++)
		kf_pages_free(run[i]);
}

START_TEST(aligned_run_is_found_behind_misaligned_ones)
{
	floor_start();
	make_misaligned_holes(40);
	for (size_t align = 1; align <= 1024; align *= 2)
		floor_take(HOLE, align);
	floor_check();
}
END_TEST

START_TEST(run_grows_into_a_free_run_behind_it_only)
{
	struct kf_run *run, *behind, *fence;

	floor_start();
	run = floor_take(4, 1);
	behind = floor_take(4, 1);
	fence = floor_take(1, 1);
	ck_assert(!kf_pages_resize(run, 5));
	ck_assert_uint_eq(run->nr_pages, 4);
	kf_pages_free(behind);
	ck_assert(!kf_pages_resize(run, 9));
	ck_assert(kf_pages_resize(run, 6));
	floor_check();
	ck_assert(kf_pages_resize(run, 8));
	floor_check();
	ck_assert_ptr_eq(kf_run_end(run), fence->start);
	ck_assert(kf_pages_resize(run, 1));
	ck_assert_uint_eq(floor_check().large, 2 * KF_PAGE);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
	bool zeroed;

	floor_start();
	ck_assert_ptr_null(kf_pages_alloc(SIZE_MAX, 1, KF_RUN_LARGE, &zeroed));
	ck_assert_ptr_null(
		kf_pages_alloc((size_t)1 << 40, 1, KF_RUN_LARGE, &zeroed));
	ck_assert_ptr_null(
		kf_pages_alloc(1, (size_t)1 << 50, KF_RUN_LARGE, &zeroed));
	ck_assert_ptr_null(kf_pages_map((size_t)1 << 50, 1));
	floor_check();
}
END_TEST

START_TEST(region_is_smaller_where_address_space_is_scarce)
{
	floor_start();
	unit_limit_address_space(8 * KF_MIB);
	floor_take(1, 1);
	unit_limit_address_space(SIZE_MAX);
	floor_check();
}
END_TEST

START_TEST(floor_survives_the_end_of_memory)
{
	static struct kf_run *runs[100000];
	size_t nr = 0, again = 0;
	bool zeroed;

	floor_start();
	unit_limit_address_space(64 * KF_MIB);
	while ((runs[nr] = kf_pages_alloc(1 + nr % 40, 1, KF_RUN_LARGE,
					  &zeroed))) {
		memset(runs[nr]->start, 1, kf_run_bytes(runs[nr]));
		nr++;
	}
	floor_check();
	/* Nearly all that the limit allows has been given out. */
	ck_assert_uint_gt(kf_word_get(KF_WORD_large), 40 * KF_MIB);
	ck_assert_ptr_null(kf_pages_map(64 * KF_MIB / KF_PAGE, 1));
	floor_check();
	for (size_t i = 0; i < nr; i++)
		kf_pages_free(runs[i]);
	floor_check();
	while (again < nr &&
	       kf_pages_alloc(1 + again % 40, 1, KF_RUN_LARGE, &zeroed))
		again++;
	unit_limit_address_space(SIZE_MAX);
	/* By address, not as they were made: what is left at ends differs. */
	ck_assert_uint_ge(again + 1, nr);
	floor_check();
}
END_TEST

static void *work(void *arg)
{
	static struct owned owned[4][NR_RUNS];
	size_t number = (size_t)arg;
	uint64_t state = 10 + number;

	for (int i = 0; i < 10000; i++)
		operate(&owned[number][chance_below(&state, NR_RUNS)], &state);
	free_all(owned[number]);
	return NULL;
}

START_TEST(refused_run_leaves_nothing_behind)
{
	struct rlimit before, limit;
	size_t mapped, metadata;
	bool zeroed;

	floor_start();
	floor_take(1, 1);
	mapped = kf_word_get(KF_WORD_mapped);
	metadata = kf_word_get(KF_WORD_metadata);
	/* Addresses are to be had, memory is not. */
	ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
	limit = before;
	limit.rlim_cur = 64 * KF_MIB;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	for (size_t nr = 1 << 15; nr <= 1 << 30; nr <<= 5)
		ck_assert_ptr_null(
			kf_pages_alloc(nr, 1, KF_RUN_LARGE, &zeroed));
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_mapped), mapped);
	ck_assert_uint_eq(kf_word_get(KF_WORD_metadata), metadata);
	floor_check();
}
END_TEST

START_TEST(one_slab_is_had_where_two_megabytes_are_not)
{
	bool zeroed;

	/* A region that is full. */
	floor_start_of(2 * KF_MIB);
	floor_take(500, 1);
	/* It may lie where the map has no leaves yet: two of half a MiB. */
	unit_limit_address_space(KF_MIB + KF_MIB / 2);
	ck_assert_ptr_nonnull(kf_pages_alloc(KF_GRANULE_PAGES, KF_GRANULE_PAGES,
					     KF_RUN_SLAB, &zeroed));
	ck_assert_ptr_nonnull(kf_pages_alloc(30, 1, KF_RUN_LARGE, &zeroed));
	floor_check();
	unit_limit_address_space(SIZE_MAX);
}
END_TEST

START_TEST(threads_share_the_floor)
{
	pthread_t threads[4];

	floor_start();
	for (size_t i = 0; i < KF_ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (size_t i = 0; i < KF_ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(floor_check().large, 0);
}
END_TEST

START_TEST(thread_does_not_wait_for_a_fork)
{
	static struct kf_run *before;
	pthread_t thread;

	floor_start();
	before = floor_take(5, 1);
	kf_pages_fork_prepare();
	ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
	pthread_join(thread, NULL);
	kf_pages_fork_done(false);
	floor_check();
	kf_pages_free(before);
	ck_assert_uint_eq(floor_check().large, 0);
}
END_TEST

START_TEST(owners_lines_of_a_run_used_again_are_zero)
{
	struct kf_run *run;

	floor_start();
	run = floor_take(16, 1);
	/* So that it is found as it is, neither cut nor merged. */
	floor_take(1, 1);
	for (int i = 0; i < 3; i++) {
		memset((char *)run + sizeof(*run), 1,
		       KF_RUN_BYTES - sizeof(*run));
		kf_pages_free(run);
		ck_assert_ptr_eq(floor_take(16, 1), run);
		for (size_t b = sizeof(*run); b < KF_RUN_BYTES; b++)
			UNIT_REQUIRE(((char *)run)[b] == 0);
		floor_check();
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		owners_lines_of_a_run_used_again_are_zero,
		splitting_and_coalescing_lose_no_byte,
		trim_of_an_unused_floor_leaves_only_metadata,
		freed_neighbours_become_one_run,
		lowest_run_that_fits_is_taken,
		aligned_run_starts_at_a_multiple,
		aligned_run_is_found_behind_misaligned_ones,
		run_grows_into_a_free_run_behind_it_only,
		impossible_sizes_are_refused,
		region_is_smaller_where_address_space_is_scarce,
		floor_survives_the_end_of_memory,
		refused_run_leaves_nothing_behind,
		one_slab_is_had_where_two_megabytes_are_not,
		threads_share_the_floor,
		thread_does_not_wait_for_a_fork,
	};

	return unit_run("pages/pages", tests, KF_ARRAY_SIZE(tests));
}
