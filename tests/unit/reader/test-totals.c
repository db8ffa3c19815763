/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/totals.c: the two equations hold, for figures that fit and for
 * figures that do not.
 */
#include "config.h"

#include "reader/internal.h"
#include "stats/stats.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>

static void read_back(struct fixture *f, struct kf_snapshot *s)
{
	support_write(f, "file");
	ck_assert_int_eq(kf_snapshot_read(AT_FDCWD, support_path("file"), s),
			 KF_READ_OK);
}

static uint64_t sum(const struct kf_totals *t)
{
	return t->live + t->rounding + t->cached + t->free + t->metadata;
}

START_TEST(states_add_up_to_what_is_held)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	/* 100 blocks of 32 bytes live, a quarter of them rounding */
	f.slots[0].class[2] = (struct kf_stats_pair){150, 50};
	fixture_set(&f, "asked_sample", 75);
	fixture_set(&f, "given_sample", 100);
	fixture_set(&f, "carved", 4000);
	fixture_set(&f, "large_slack", 100);
	/* one of two large blocks was freed and is kept */
	fixture_set(&f, "large", 8192 + 12288);
	fixture_set(&f, "large_kept", 12288);
	fixture_set(&f, "slabs", 65536);
	fixture_set(&f, "free_runs", 40960);
	fixture_set(&f, "purged", 4096);
	fixture_set(&f, "metadata", 4096);
	fixture_set(&f, "mapped", 65536 + 40960 + 4096 + 8192 + 12288);
	read_back(&f, &s);
	ck_assert_uint_eq(s.totals.live_blocks, 100);
	ck_assert_uint_eq(s.totals.rounding, 800 + 100);
	ck_assert_uint_eq(s.totals.live, 3200 + 8192 - 900);
	ck_assert_uint_eq(s.totals.cached, 4000 - 3200 + 12288);
	ck_assert_uint_eq(s.totals.free, 40960 - 4096 + 65536 - 4000);
	ck_assert_uint_eq(s.totals.metadata, 4096);
	ck_assert_uint_eq(s.totals.held, 65536 + 40960 + 8192 + 12288);
	ck_assert_uint_eq(sum(&s.totals), s.totals.held);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(calls_and_bytes_are_added_over_classes_and_slots)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	f.slots[0].class[1] = (struct kf_stats_pair){3, 1};
	f.slots[1].state = KF_SLOT_IN_USE;
	f.slots[1].class[4] = (struct kf_stats_pair){5, 2};
	f.slots[0].class[0] = (struct kf_stats_pair){2, 1};
	fixture_set(&f, "large_allocated", 20480);
	fixture_set(&f, "large_freed", 8192);
	read_back(&f, &s);
	ck_assert_uint_eq(s.totals.mallocs, 10);
	ck_assert_uint_eq(s.totals.frees, 4);
	ck_assert_uint_eq(s.totals.live_blocks, 6);
	ck_assert_uint_eq(s.totals.allocated, 3 * 16 + 5 * 64 + 20480);
	ck_assert_uint_eq(s.totals.freed, 1 * 16 + 2 * 64 + 8192);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(bins_have_what_was_taken_and_is_neither_used_nor_put_back)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	/* 64 bytes: 20 taken, 12 handed out, of which 5 went to their slab */
	f.slots[0].class[4] = (struct kf_stats_pair){12, 5};
	/* 1152 bytes: 8 taken, 2 inherited, 3 live, 5 freed by another */
	f.classes[65].inherited = 2;
	f.slots[0].class[65] = (struct kf_stats_pair){6, 0};
	f.slots[1].state = KF_SLOT_IN_USE;
	f.slots[1].class[65] = (struct kf_stats_pair){0, 5};
	fixture_set(&f, "taken", 20 * 64 + 8 * 1152);
	fixture_set(&f, "carved", 40 * 64 + 14 * 1152);
	fixture_set(&f, "slabs", 65536);
	fixture_set(&f, "mapped", 65536);
	read_back(&f, &s);
	ck_assert(s.totals.knows_bins);
	ck_assert_uint_eq(s.totals.bins, 8 * 64 + 5 * 1152);
	ck_assert_uint_eq(s.totals.cached, 33 * 64 + 11 * 1152);
	kf_snapshot_release(&s);
	/* never more than is free */
	fixture_set(&f, "carved", 7 * 64 + 5 * 1152);
	read_back(&f, &s);
	ck_assert_uint_eq(s.totals.bins, s.totals.cached);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(bins_of_an_older_file_are_unknown)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.slots[0].class[4] = (struct kf_stats_pair){12, 5};
	fixture_set(&f, "carved", 40 * 64);
	for (uint32_t i = 0; i < f.header->descs.nr; i++) {
		if (!strcmp(f.descs[i].name, "taken"))
			f.descs[i].name[0] = 'b';
	}
	read_back(&f, &s);
	ck_assert(!s.totals.knows_bins);
	ck_assert_uint_eq(s.totals.bins, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(inherited_blocks_are_live_and_can_be_freed)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.classes[1].inherited = 10;
	f.slots[0].class[1] = (struct kf_stats_pair){2, 7};
	read_back(&f, &s);
	ck_assert_uint_eq(s.totals.inherited_blocks, 10);
	ck_assert_uint_eq(s.totals.frees, 7);
	ck_assert_uint_eq(s.totals.live_blocks, 5);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(free_seen_before_its_malloc_leaves_no_block_owed)
{
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 1);
	f.slots[0].class[1] = (struct kf_stats_pair){5, 6};
	read_back(&f, &s);
	ck_assert_uint_eq(s.totals.live_blocks, 0);
	ck_assert_uint_eq(s.totals.mallocs - s.totals.frees, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(equations_hold_for_any_figures)
{
	uint64_t state = 1;
	struct kf_snapshot s;
	struct fixture f;

	support_begin();
	fixture_make(&f, 2);
	for (int i = 0; i < 500; i++) {
		int bits = (int)(chance_next(&state) % 50);

		for (size_t w = 0; w < KF_NR_WORD_STATS; w++)
			f.words->word[w] = chance_next(&state) >> (10 + bits);
		for (size_t w = 0; w < KF_NR_SLOT_STATS; w++)
			f.slots[0].scalar[w] =
				chance_next(&state) >> (10 + bits);
		for (size_t c = 0; c < KF_STATS_NR_CLASSES; c += 13) {
			f.slots[1].class[c].mallocs = chance_next(&state) >> 40;
			f.slots[1].class[c].frees = chance_next(&state) >> 40;
		}
		read_back(&f, &s);
		ck_assert_uint_eq(sum(&s.totals), s.totals.held);
		ck_assert_uint_le(s.totals.bins, s.totals.cached);
		ck_assert_uint_eq(s.totals.mallocs - s.totals.frees +
					  s.totals.inherited_blocks,
				  s.totals.live_blocks);
		kf_snapshot_release(&s);
	}
	fixture_free(&f);
}
END_TEST

/* All figures of a file, as whoever wrote it likes. */
static void lie(uint64_t value, int64_t inherited)
{
	struct kf_snapshot s;
	struct fixture f;

	fixture_make(&f, 3);
	for (unsigned int i = 0; i < 3; i++) {
		f.slots[i].state = KF_SLOT_IN_USE;
		for (unsigned int k = 0; k < KF_STATS_SLOT_SCALARS; k++)
			f.slots[i].scalar[k] = value;
		for (unsigned int c = 0; c < KF_STATS_NR_CLASSES; c++)
			f.slots[i].class[c] = (struct kf_stats_pair){value, 0};
	}
	for (unsigned int c = 0; c < KF_STATS_NR_CLASSES; c++) {
		f.classes[c].inherited = inherited;
		f.classes[c].carved = (int64_t)value;
	}
	for (unsigned int k = 0; k < KF_NR_WORD_STATS; k++)
		f.words->word[k] = value;
	read_back(&f, &s);
	ck_assert_uint_eq(sum(&s.totals), s.totals.held);
	ck_assert_uint_le(s.totals.bins, s.totals.cached);
	ck_assert_int_ge((int64_t)s.totals.held, 0);
	ck_assert_uint_eq(s.totals.live_blocks,
			  s.totals.mallocs - s.totals.frees +
				  s.totals.inherited_blocks);
	ck_assert_int_ge((int64_t)s.totals.live_blocks, 0);
	ck_assert_int_ge((int64_t)s.totals.allocated, 0);
	for (unsigned int c = 0; inherited > 0 && c < s.nr_classes; c++)
		ck_assert_int_gt((int64_t)kf_class_blocks(&s.classes[c]), 0);
	for (unsigned int i = 0; i < s.nr_counters; i++) {
		ck_assert_int_ge((int64_t)s.counters[i].value, 0);
	}
	kf_snapshot_release(&s);
	fixture_free(&f);
}

START_TEST(no_figure_overflows)
{
	support_begin();
	lie(1, INT64_MAX);
	lie(INT64_MAX, INT64_MAX);
	lie(UINT64_MAX, INT64_MAX);
	lie(UINT64_MAX / 2 + 1, INT64_MIN);
	lie(UINT64_MAX / 3, -1);
	lie(0, INT64_MIN);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		states_add_up_to_what_is_held,
		calls_and_bytes_are_added_over_classes_and_slots,
		bins_have_what_was_taken_and_is_neither_used_nor_put_back,
		bins_of_an_older_file_are_unknown,
		inherited_blocks_are_live_and_can_be_freed,
		free_seen_before_its_malloc_leaves_no_block_owed,
		equations_hold_for_any_figures,
		no_figure_overflows,
	};

	return unit_run("reader/totals", tests, KF_ARRAY_SIZE(tests));
}
