/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/heap-map.c: the newest map is read if all of it is there and possible.
 */
#include "config.h"

#include "reader/heap-map.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NR 6
#define BASE ((uint64_t)0x7f0000000000)

static struct fixture f;
static struct kf_stats_cell *cells;

/* Two regions, the older one at higher addresses: cells 0 and 1, and 2 to 4. */
static void make(void)
{
	static const struct kf_stats_cell all[NR] = {
		{5000, BASE + 0x90000, 65536, 0, 0, 0, 1, 5},
		{5000, BASE + 0xa0000, 0, 0, 100, 0, 1, 5},
		{5000, BASE, 30000, 35536, 0, 0, 2, 5},
		{5000, BASE + 0x10000, 1, 65535, 0, 0, 2, 5},
		{5000, BASE + 0x20000, 0, 0, 0, 65536, 2, 5},
		{4000, BASE, 1, 0, 0, 0, 1, 6},
	};
	size_t at;

	support_begin();
	fixture_make(&f, 1);
	at = KF_ALIGN_UP(f.size, (size_t)64);
	f.bytes = realloc(f.bytes, at + sizeof(all));
	ck_assert_ptr_nonnull(f.bytes);
	memset(f.bytes + f.size, 0, at - f.size);
	f.header = (void *)f.bytes;
	f.header->map =
		(struct kf_stats_section){(uint32_t)at, sizeof(*cells), NR, 0};
	cells = (void *)(f.bytes + at);
	memcpy(cells, all, sizeof(all));
	f.size = at + sizeof(all);
	f.header->total_size = f.size;
}

static struct kf_snapshot read_file(unsigned int tables)
{
	struct kf_snapshot s;

	support_write(&f, "map");
	ck_assert_int_eq(kf_snapshot_read_with(AT_FDCWD, support_path("map"),
					       tables, &s),
			 KF_READ_OK);
	return s;
}

static uint32_t nr_read(void)
{
	struct kf_snapshot s = read_file(KF_TABLE_MAP);
	uint32_t nr = s.nr_cells;

	kf_snapshot_release(&s);
	return nr;
}

START_TEST(newest_map_is_read_by_address)
{
	struct kf_snapshot s;
	struct kf_cell_span r;
	struct kf_cell_sums all;
	uint32_t nr_regions;

	make();
	s = read_file(0);
	ck_assert_uint_eq(s.nr_cells, 0);
	ck_assert_uint_eq(kf_heap_map_noted(&s), 0);
	kf_snapshot_release(&s);
	s = read_file(KF_TABLE_MAP);
	ck_assert_uint_eq(s.nr_cells, 5);
	r = kf_heap_map_region(&s, 0);
	ck_assert_uint_eq(r.nr, 3);
	ck_assert_uint_eq(r.begin, BASE);
	ck_assert_uint_eq(r.end, BASE + 0x30000);
	ck_assert_uint_eq(r.sums.used, 30001);
	ck_assert_uint_eq(kf_cell_memory(&r.sums), 0x20000);
	r = kf_heap_map_region(&s, 3);
	ck_assert_uint_eq(r.nr, 2);
	ck_assert_uint_eq(r.end, BASE + 0xa0000 + 100);
	all = kf_heap_map_all(&s, &nr_regions);
	ck_assert_uint_eq(nr_regions, 2);
	ck_assert_uint_eq(all.used, 95537);
	ck_assert_uint_eq(all.dirty, 100);
	ck_assert_uint_eq(all.absent, 65536);
	ck_assert_uint_eq(kf_heap_map_length(&s), 65536);
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.cells);
	fixture_free(&f);
}
END_TEST

START_TEST(levels_are_tenths_and_the_ends_are_exact)
{
	static const struct {
		struct kf_stats_cell cell;
		int level;
	} all[] = {
		{{.absent = 5}, KF_CELL_ABSENT},
		{{.free = 5, .absent = 5}, KF_CELL_EMPTY},
		{{.dirty = 5}, KF_CELL_EMPTY},
		{{.used = 1, .free = 65535}, 1},
		{{.used = 5, .free = 3, .dirty = 2, .absent = 90}, 5},
		{{.used = 65535, .free = 1}, 9},
		{{.used = 5, .absent = 90}, KF_CELL_FULL},
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(all); i++)
		ck_assert_int_eq(kf_cell_level(&all[i].cell), all[i].level);
}
END_TEST

START_TEST(cells_that_look_alike_are_one_stretch)
{
	struct kf_snapshot s;
	struct kf_cell_span part;

	make();
	cells[3] = (struct kf_stats_cell){
		5000, BASE + 0x10000, 32000, 33536, 0, 0, 2, 5};
	s = read_file(KF_TABLE_MAP);
	ck_assert_uint_eq(kf_heap_map_alike(&s, 0, 3), 2);
	ck_assert_uint_eq(kf_heap_map_alike(&s, 0, 1), 1);
	ck_assert_uint_eq(kf_heap_map_alike(&s, 2, 3), 1);
	part = kf_heap_map_part(&s, 1, 3);
	ck_assert_uint_eq(part.begin, BASE + 0x10000);
	ck_assert_uint_eq(part.end, BASE + 0x30000);
	ck_assert_uint_eq(part.nr, 2);
	ck_assert_uint_eq(part.sums.used, 32000);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(time_is_of_the_wall)
{
	struct kf_stats_identity *id;
	struct kf_snapshot s;

	make();
	for (int i = 0; i < 5; i++)
		cells[i].noted = 9000000123;
	id = (void *)(f.bytes + f.header->identity.offset);
	id->created_mono = 9000000000;
	id->created_ns = 1700000000000000000;
	s = read_file(KF_TABLE_MAP);
	ck_assert_uint_eq(kf_heap_map_noted(&s), 1700000000000000123);
	kf_snapshot_release(&s);
	id->created_mono = 9000000200;
	s = read_file(KF_TABLE_MAP);
	ck_assert_uint_eq(kf_heap_map_noted(&s), 1700000000000000000);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* One damage at a time, to a map that is good. */
START_TEST(maps_that_cannot_be_are_left_out)
{
	static const struct {
		int cell;
		size_t field;
		uint64_t value;
	} damages[] = {
#define AT(name) offsetof(struct kf_stats_cell, name)
		{2, AT(noted), 0},		   /* being written */
		{2, AT(noted), 4000},		   /* of another map */
		{2, AT(noted), UINT64_MAX},	   /* no time */
		{2, AT(begin), BASE + 1},	   /* overlaps */
		{3, AT(begin), BASE + 0x8000},	   /* likewise */
		{4, AT(begin), BASE + 0x20001},	   /* a gap in a region */
		{1, AT(begin), BASE + 0x10000},	   /* in another region */
		{1, AT(begin), UINT64_MAX},	   /* no address */
		{1, AT(dirty), UINT64_MAX},	   /* no length */
		{1, AT(used), (1ULL << 47) + 1},   /* likewise */
		{1, AT(dirty), 0},		   /* an empty cell */
		{1, AT(region), 5ULL << 32},	   /* no region */
		{1, AT(region), (4ULL << 32) | 1}, /* another number of cells */
#undef AT
	};

	make();
	ck_assert_uint_eq(nr_read(), 5);
	for (size_t i = 0; i < KF_ARRAY_SIZE(damages); i++) {
		struct kf_stats_cell *c = &cells[damages[i].cell], good = *c;

		memcpy((char *)c + damages[i].field, &damages[i].value,
		       sizeof(damages[i].value));
		ck_assert_uint_eq(nr_read(), 0);
		*c = good;
	}
	ck_assert_uint_eq(nr_read(), 5);
	fixture_free(&f);
}
END_TEST

START_TEST(header_of_an_earlier_version_has_no_map)
{
	make();
	f.header->minor = 9;
	f.header->map.offset = UINT32_MAX;
	ck_assert_uint_eq(nr_read(), 0);
	fixture_free(&f);
}
END_TEST

START_TEST(map_behind_the_end_is_damage)
{
	make();
	f.header->map.nr++;
	support_write(&f, "map");
	ck_assert_int_eq(support_result("map"), KF_READ_DAMAGED);
	f.header->map.nr--;
	f.header->map.entry_size = sizeof(*cells) - 8;
	support_write(&f, "map");
	ck_assert_int_eq(support_result("map"), KF_READ_DAMAGED);
	fixture_free(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		newest_map_is_read_by_address,
		levels_are_tenths_and_the_ends_are_exact,
		cells_that_look_alike_are_one_stretch,
		time_is_of_the_wall,
		maps_that_cannot_be_are_left_out,
		header_of_an_earlier_version_has_no_map,
		map_behind_the_end_is_damage,
	};

	return unit_run("reader/heap-map", tests, KF_ARRAY_SIZE(tests));
}
