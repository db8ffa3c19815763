/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/cells.c: the map's cells have all bytes of the regions, each by its use,
 * and each where it is.
 */
#include "config.h"

#include <string.h>

#include "engines/host.h"
#include "heap/cells.h"
#include "heap/heap.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define NR_BLOCKS 20000
#define NR_CELLS 2048
#define LARGE (100 * KF_KIB)

static void *blocks[NR_BLOCKS];
static struct kf_stats_cell cells[NR_CELLS];
static struct kf_stats_cell sums;
static uint32_t nr;
static uint64_t length;

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_thread_exit_init(kf_heap_detach);
	kf_host_init();
	memset(blocks, 0, sizeof(blocks));
}

static void *take(size_t size)
{
	size_t usable;
	void *p = kf_host_alloc(size, 16, false, 0, &usable);

	UNIT_REQUIRE(p);
	return p;
}

static void drop(void *p)
{
	UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
}

/* The whole blocks of a class, and all but each @left of them freed. */
static void fill(size_t size, size_t left)
{
	for (size_t i = 0; i < NR_BLOCKS; i++)
		blocks[i] = take(size);
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		if (i % left) {
			drop(blocks[i]);
			blocks[i] = NULL;
		}
	}
	/* No block may rest in a bin: it would count as used. */
	kf_heap_flush(kf_heap_self());
}

static uint64_t bytes_of(const struct kf_stats_cell *c)
{
	return c->used + c->free + c->dirty + c->absent;
}

static void note(uint64_t now)
{
	length = kf_cells_length(NR_CELLS, &nr);
	ck_assert_uint_gt(nr, 0);
	ck_assert_uint_eq(kf_cells_note(cells, NR_CELLS, length, now), nr);
	memset(&sums, 0, sizeof(sums));
	for (uint32_t i = 0; i < nr; i++) {
		ck_assert_uint_eq(cells[i].noted, now);
		ck_assert_uint_eq(cells[i].nr, nr);
		ck_assert_uint_gt(cells[i].region, 0);
		ck_assert_uint_le(bytes_of(&cells[i]), length);
		if (i && cells[i].region == cells[i - 1].region) {
			ck_assert_uint_eq(bytes_of(&cells[i - 1]), length);
			ck_assert_uint_eq(cells[i].begin,
					  cells[i - 1].begin + length);
		}
		sums.used += cells[i].used;
		sums.free += cells[i].free;
		sums.dirty += cells[i].dirty;
		sums.absent += cells[i].absent;
	}
}

static const struct kf_stats_cell *cell_at(const void *p)
{
	for (uint32_t i = 0; i < nr; i++) {
		if ((uintptr_t)p - cells[i].begin < bytes_of(&cells[i]))
			return &cells[i];
	}
	return NULL;
}

START_TEST(sums_are_those_of_the_pages)
{
	struct kf_pages_sums pages;

	start();
	fill(1024, 16);
	note(7);
	ck_assert_ptr_null(kf_pages_check(&pages));
	ck_assert_uint_eq(bytes_of(&sums), pages.committed);
	ck_assert_uint_ge(sums.used, NR_BLOCKS / 16 * 1024);
	ck_assert_uint_le(sums.used, NR_BLOCKS / 16 * 1024 + 256 * KF_KIB);
	/* a slab keeps at most one page that is not carved */
	ck_assert_uint_ge(sums.free, NR_BLOCKS / 16 * 15 * 1024 - KF_MIB);
	ck_assert_uint_ge(sums.dirty, pages.dirty);
	ck_assert_uint_le(sums.absent, pages.free - pages.dirty + KF_MIB);
}
END_TEST

START_TEST(bytes_are_where_the_blocks_are)
{
	const struct kf_stats_cell *c;
	char *large;

	start();
	fill(1024, 16);
	note(1);
	for (size_t i = 0; i < NR_BLOCKS; i += 16) {
		c = cell_at(blocks[i]);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_gt(c->used, 0);
	}
	large = take(LARGE);
	note(2);
	c = cell_at(large + LARGE / 2);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->used, bytes_of(c));
	memset(large, 1, LARGE);
	drop(large);
	kf_heap_flush(kf_heap_self());
	note(3);
	c = cell_at(large + LARGE / 2);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->used, 0);
	ck_assert_uint_eq(c->dirty, bytes_of(c));
	ck_assert_uint_gt(kf_pages_trim(0), 0);
	note(4);
	ck_assert_uint_eq(sums.dirty, 0);
}
END_TEST

START_TEST(cells_are_as_long_as_needed)
{
	uint32_t few;
	uint64_t longer;

	start();
	fill(1024, 2);
	note(1);
	longer = kf_cells_length(nr / 4, &few);
	ck_assert_uint_gt(longer, length);
	ck_assert_uint_le(few, nr / 4);
	ck_assert_uint_eq(longer & (longer - 1), 0);
	ck_assert_uint_eq(kf_cells_note(cells, NR_CELLS, longer, 2), few);
	ck_assert_uint_eq(cells[0].nr, few);
	/* what is left of the longer map is gone */
	for (uint32_t i = few; i < NR_CELLS; i++)
		ck_assert_uint_eq(cells[i].noted, 0);
}
END_TEST

START_TEST(map_that_does_not_fit_is_not_written)
{
	struct kf_stats_cell behind = {.noted = 23};

	start();
	fill(1024, 2);
	note(1);
	cells[nr / 2] = behind;
	ck_assert_uint_eq(kf_cells_note(cells, nr / 2, length, 2), nr / 2 + 1);
	for (uint32_t i = 0; i < nr / 2; i++)
		ck_assert_uint_eq(cells[i].noted, 0);
	ck_assert_mem_eq(&cells[nr / 2], &behind, sizeof(behind));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		sums_are_those_of_the_pages,
		bytes_are_where_the_blocks_are,
		cells_are_as_long_as_needed,
		map_that_does_not_fit_is_not_written,
	};

	return unit_run("heap/cells", tests, KF_ARRAY_SIZE(tests));
}
