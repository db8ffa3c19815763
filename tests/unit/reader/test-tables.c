/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/tables.c: tags, stacks and code are read when they are asked for, and
 * what refers to nothing is left out.
 */
#include "config.h"

#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NR 8

static struct fixture f;
static struct kf_stats_tag *tags;
static struct kf_stats_stack *stacks;
static struct kf_stats_module *modules;

/* Longer entries than this version's, with a gap before them. */
static void make(uint32_t more)
{
	size_t tag_size = sizeof(*tags) + more;
	size_t at;

	support_begin();
	fixture_make(&f, 1);
	at = KF_ALIGN_UP(f.size, (size_t)65536);
	f.bytes = realloc(f.bytes, at + NR * (tag_size + sizeof(*stacks) +
					      sizeof(*modules)));
	ck_assert_ptr_nonnull(f.bytes);
	memset(f.bytes + f.size, 0, at - f.size);
	f.header = (void *)f.bytes;
	f.header->tags = (struct kf_stats_section){(uint32_t)at,
						   (uint32_t)tag_size, NR, 0};
	tags = (void *)(f.bytes + at);
	memset(tags, 0, NR * tag_size);
	at += NR * tag_size;
	f.header->stacks =
		(struct kf_stats_section){(uint32_t)at, sizeof(*stacks), NR, 0};
	stacks = (void *)(f.bytes + at);
	memset(stacks, 0, NR * sizeof(*stacks));
	at += NR * sizeof(*stacks);
	f.header->modules = (struct kf_stats_section){(uint32_t)at,
						      sizeof(*modules), NR, 0};
	modules = (void *)(f.bytes + at);
	memset(modules, 0, NR * sizeof(*modules));
	f.size = at + NR * sizeof(*modules);
}

static struct kf_stats_tag *tag(uint32_t i, uint32_t parent, uint32_t depth)
{
	struct kf_stats_tag *t =
		(void *)((char *)tags + i * f.header->tags.entry_size);

	t->state = KF_TAG_IN_USE;
	t->parent = parent;
	t->depth = depth;
	t->root = 1;
	t->name[0] = (char)('a' + i);
	return t;
}

static struct kf_snapshot read_file(unsigned int tables)
{
	struct kf_snapshot s;

	support_write(&f, "tables");
	ck_assert_int_eq(kf_snapshot_read_with(AT_FDCWD, support_path("tables"),
					       tables, &s),
			 KF_READ_OK);
	return s;
}

START_TEST(tables_are_read_when_asked_for)
{
	struct kf_snapshot s;

	make(0);
	tag(1, 0, 0)->allocated = 23;
	tag(2, 1, 1);
	stacks[3].hash = 7;
	stacks[3].nr_frames = 2;
	s = read_file(0);
	ck_assert_ptr_null(s.tags);
	ck_assert_ptr_null(s.stacks);
	kf_snapshot_release(&s);
	s = read_file(KF_TABLE_TAGS | KF_TABLE_STACKS);
	ck_assert_uint_eq(s.nr_tags, NR);
	ck_assert_uint_eq(s.nr_stacks, NR);
	ck_assert_uint_eq(s.tags[1].allocated, 23);
	ck_assert_str_eq(s.tags[2].name, "c");
	ck_assert_uint_eq(s.stacks[3].nr_frames, 2);
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.tags);
	fixture_free(&f);
}
END_TEST

static struct kf_stats_module *module(uint32_t i)
{
	struct kf_stats_module *m = &modules[i];

	m->base = 0x1000;
	m->begin = 0x2000;
	m->end = 0x3000;
	m->build_id_size = sizeof(m->build_id);
	memset(m->path, '/', sizeof(m->path));
	return m;
}

START_TEST(modules_that_cannot_hold_are_left_out)
{
	struct kf_snapshot s;

	make(0);
	module(0);
	module(1)->end = 0x2000;
	module(2)->base = 0x2001;
	module(3)->path[0] = '\0';
	module(4)->build_id_size++;
	s = read_file(KF_TABLE_TAGS);
	ck_assert_ptr_null(s.modules);
	kf_snapshot_release(&s);
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(s.nr_modules, NR);
	ck_assert_uint_eq(s.modules[0].begin, 0x2000);
	ck_assert_uint_eq(strlen(s.modules[0].path), KF_STATS_MODULE_PATH - 1);
	for (uint32_t i = 1; i < 4; i++)
		ck_assert_uint_eq(s.modules[i].begin, 0);
	ck_assert_uint_eq(s.modules[4].begin, 0x2000);
	ck_assert_uint_eq(s.modules[4].build_id_size, 0);
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.modules);
	fixture_free(&f);
}
END_TEST

/* The end of a path that was longer then, and nothing of it as a size. */
START_TEST(modules_of_older_files_have_more_path)
{
	struct kf_snapshot s;

	make(0);
	module(0);
	memset(module(1)->path, 0, sizeof(modules[1].path));
	memcpy(modules[1].path, "/a", 2);
	memset((char *)&modules[0] + offsetof(struct kf_stats_module, inode),
	       'x',
	       sizeof(modules[0]) - offsetof(struct kf_stats_module, inode));
	stacks[1].hash = 1 << KF_GENERATION_BITS;
	f.header->minor = 5;
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(strlen(s.modules[0].path), KF_STATS_MODULE_PATH - 1);
	ck_assert_int_eq(s.modules[0].path[KF_STATS_MODULE_PATH - 2], 'x');
	ck_assert_uint_eq(s.modules[0].flags, KF_MODULE_CUT);
	ck_assert_uint_eq(s.modules[0].inode, 0);
	ck_assert_uint_eq(s.modules[0].modified, 0);
	ck_assert_str_eq(s.modules[1].path, "/a");
	ck_assert_uint_eq(s.modules[1].flags, 0);
	ck_assert_uint_eq(kf_stats_generation(&s.stacks[1]),
			  KF_GENERATION_LAST);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(header_of_an_earlier_version_has_no_modules)
{
	struct kf_snapshot s;

	make(0);
	module(0);
	f.header->minor = 2;
	f.header->header_size =
		(uint32_t)offsetof(struct kf_stats_header, modules);
	memset(&f.header->modules, 0xff, sizeof(f.header->modules));
	stacks[3].hash = 7 << KF_GENERATION_BITS;
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(s.stacks[3].hash >> KF_GENERATION_BITS, 7);
	ck_assert_uint_eq(s.nr_modules, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

/* Add a table of frames behind the others; entry i has address 100 + i. */
static struct kf_stats_frame *add_frames(void)
{
	struct kf_stats_frame *frames;
	size_t bytes = NR * sizeof(*frames);

	f.bytes = realloc(f.bytes, f.size + bytes);
	ck_assert_ptr_nonnull(f.bytes);
	f.header = (void *)f.bytes;
	stacks = (void *)(f.bytes + f.header->stacks.offset);
	frames = (void *)(f.bytes + f.size);
	memset(frames, 0, bytes);
	for (uint32_t i = 1; i < NR; i++)
		frames[i].address = 100 + i;
	f.header->frames = (struct kf_stats_section){(uint32_t)f.size,
						     sizeof(*frames), NR, 0};
	f.size += bytes;
	for (uint32_t i = 0; i < NR; i++) {
		stacks[i].nr_frames = KF_STATS_STACK_FRAMES;
		stacks[i].flags = KF_STACK_CUT | i << KF_STACK_OUTER_SHIFT;
		for (uint32_t k = 0; k < KF_STATS_STACK_FRAMES; k++)
			stacks[i].frame[k] = k + 1;
	}
	return frames;
}

START_TEST(outer_frames_follow_those_of_the_stack)
{
	uint64_t frame[KF_STATS_STACK_MAX];
	struct kf_stats_frame *frames;
	struct kf_snapshot s;

	make(0);
	frames = add_frames();
	frames[3].parent = 2;
	frames[2].parent = 1;
	stacks[2].flags |= KF_STACK_OUTER_CUT;
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(kf_snapshot_frames(&s, &s.stacks[3], frame),
			  KF_STATS_STACK_FRAMES + 3);
	ck_assert_uint_eq(frame[0], 1);
	ck_assert_uint_eq(frame[KF_STATS_STACK_FRAMES], 103);
	ck_assert_uint_eq(frame[KF_STATS_STACK_FRAMES + 2], 101);
	ck_assert(!(s.stacks[3].flags & KF_STACK_CUT));
	ck_assert(s.stacks[2].flags & KF_STACK_CUT);
	ck_assert_uint_eq(kf_snapshot_frames(&s, &s.stacks[0], frame),
			  KF_STATS_STACK_FRAMES);
	ck_assert(s.stacks[0].flags & KF_STACK_CUT);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(outer_frames_that_cannot_be_are_left_out)
{
	uint64_t frame[KF_STATS_STACK_MAX];
	struct kf_stats_frame *frames;
	struct kf_snapshot s;

	make(0);
	frames = add_frames();
	frames[1].parent = 1;
	frames[2].parent = 3;
	frames[3].parent = 2;
	frames[4].parent = UINT32_MAX;
	frames[5].address = 0;
	frames[6].parent = 5;
	stacks[7].flags = KF_STACK_CUT | NR << KF_STACK_OUTER_SHIFT;
	s = read_file(KF_TABLE_STACKS);
	for (uint32_t i = 1; i < NR; i++) {
		ck_assert_uint_eq(kf_snapshot_frames(&s, &s.stacks[i], frame),
				  KF_STATS_STACK_FRAMES);
		ck_assert(s.stacks[i].flags & KF_STACK_CUT);
	}
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(header_of_an_earlier_version_has_no_frames)
{
	uint64_t frame[KF_STATS_STACK_MAX];
	struct kf_snapshot s;

	make(0);
	add_frames();
	f.header->minor = 5;
	f.header->header_size =
		(uint32_t)offsetof(struct kf_stats_header, frames);
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(s.nr_frames, 0);
	ck_assert_uint_eq(kf_snapshot_frames(&s, &s.stacks[1], frame),
			  KF_STATS_STACK_FRAMES);
	ck_assert(s.stacks[1].flags & KF_STACK_CUT);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(longer_entries_of_a_later_version_are_read)
{
	struct kf_snapshot s;

	make(64);
	tag(1, 0, 0);
	tag(NR - 1, 1, 1)->mallocs = 9;
	s = read_file(KF_TABLE_TAGS);
	ck_assert_uint_eq(s.tags[NR - 1].mallocs, 9);
	ck_assert_str_eq(s.tags[NR - 1].name, "h");
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(entries_that_refer_to_nothing_are_left_out)
{
	struct kf_snapshot s;

	make(0);
	tag(1, 0, 0);
	tag(2, NR, 1);
	tag(3, 3, 1);
	tag(4, 5, 2);
	tag(5, 4, 2);
	tag(6, 7, 1);
	tag(0, 0, 0);
	memset(tag(1, 0, 0)->name, 'n', KF_STATS_TAG_NAME);
	stacks[0].nr_frames = UINT32_MAX;
	s = read_file(KF_TABLE_TAGS | KF_TABLE_STACKS);
	for (int i = 0; i < NR; i++)
		ck_assert_int_eq(s.tags[i].state != KF_TAG_FREE, i == 1);
	ck_assert_uint_eq(strlen(s.tags[1].name), KF_STATS_TAG_NAME - 1);
	ck_assert_uint_eq(s.stacks[0].nr_frames, KF_STATS_STACK_FRAMES);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(tables_that_are_cut_are_damaged)
{
	make(0);
	f.header->modules.nr++;
	support_write(&f, "cut");
	ck_assert_int_eq(support_result("cut"), KF_READ_DAMAGED);
	f.header->modules.nr--;
	f.header->tags.entry_size--;
	support_write(&f, "short");
	ck_assert_int_eq(support_result("short"), KF_READ_DAMAGED);
	fixture_free(&f);
}
END_TEST

static const uint64_t created = 5000000000;

static void put_moment(uint32_t i, uint64_t time, uint64_t live)
{
	struct kf_stats_moment *m =
		(void *)(f.bytes + f.header->moments.offset);

	f.id = (void *)(f.bytes + f.header->identity.offset);
	f.id->created_mono = created;
	m[i] = (struct kf_stats_moment){.time = time, .live = live};
}

START_TEST(moments_come_by_time)
{
	struct kf_snapshot s;

	make(0);
	put_moment(0, created + 3000, 3);
	put_moment(5, created + 1000, 1);
	put_moment(63, created + 2000, 2);
	s = read_file(0);
	ck_assert_uint_eq(s.nr_moments, 0);
	kf_snapshot_release(&s);
	s = read_file(KF_TABLE_MOMENTS);
	ck_assert_uint_eq(s.nr_moments, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(s.moments[i].live, i + 1);
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.moments);
	fixture_free(&f);
}
END_TEST

START_TEST(moments_that_cannot_be_are_left_out)
{
	struct kf_snapshot s;

	make(0);
	put_moment(0, UINT64_MAX, 1);
	put_moment(1, 1, 2);
	put_moment(2, created + 7, 3);
	put_moment(3, created + 7, 4);
	put_moment(4, created + 8, UINT64_MAX);
	s = read_file(KF_TABLE_MOMENTS);
	ck_assert_uint_eq(s.nr_moments, 2);
	ck_assert_uint_eq(s.moments[0].time, created + 7);
	ck_assert_uint_eq(s.moments[1].live, (uint64_t)INT64_MAX / 2);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(header_of_an_earlier_version_has_no_moments)
{
	struct kf_snapshot s;

	make(0);
	put_moment(0, created + 7, 3);
	f.header->minor = 8;
	f.header->moments.offset = UINT32_MAX;
	s = read_file(KF_TABLE_MOMENTS);
	ck_assert_uint_eq(s.nr_moments, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

START_TEST(moments_behind_the_end_are_damage)
{
	struct kf_snapshot s;

	make(0);
	f.header->moments.nr = 4097;
	support_write(&f, "tables");
	ck_assert_int_eq(support_result("tables"), KF_READ_DAMAGED);
	f.header->moments.nr = KF_STATS_MOMENTS;
	f.header->moments.offset = (uint32_t)f.size - 64;
	support_write(&f, "tables");
	ck_assert_int_eq(support_result("tables"), KF_READ_DAMAGED);
	f.header->moments.nr = 0;
	s = read_file(KF_TABLE_MOMENTS);
	ck_assert_uint_eq(s.nr_moments, 0);
	kf_snapshot_release(&s);
	fixture_free(&f);
}
END_TEST

static struct kf_stats_report *report(uint32_t i, uint64_t time, uint32_t kind,
				      uint32_t stack)
{
	struct kf_stats_report *all =
		(void *)(f.bytes + f.header->reports.offset);

	all[i] = (struct kf_stats_report){
		.time = time,
		.kind = kind,
		.times = UINT64_MAX,
		.by = {{7, stack}, {8, 0}},
	};
	return &all[i];
}

START_TEST(reports_that_cannot_be_are_left_out)
{
	struct kf_snapshot s;

	make(0);
	stacks[3].hash = 1;
	report(0, 5, 2, 3);
	report(1, 0, 2, 3);
	report(2, 6, 99, 3);
	report(3, UINT64_MAX, 2, 3);
	report(4, 7, 5, 4);
	report(5, 8, 0, NR);
	s = read_file(KF_TABLE_STACKS);
	ck_assert_uint_eq(s.nr_reports, 0);
	kf_snapshot_release(&s);
	s = read_file(KF_TABLE_STACKS | KF_TABLE_REPORTS);
	ck_assert_uint_eq(s.nr_reports, 3);
	ck_assert_uint_eq(s.reports[0].by[0].stack, 3);
	ck_assert_int_eq(s.reports[0].by[1].tid, 8);
	ck_assert_uint_le(s.reports[0].times, INT64_MAX);
	ck_assert_uint_eq(s.reports[1].time, 7);
	ck_assert_uint_eq(s.reports[1].by[0].stack, 0);
	ck_assert_uint_eq(s.reports[2].by[0].stack, 0);
	kf_snapshot_release(&s);
	ck_assert_ptr_null(s.reports);
	fixture_free(&f);
}
END_TEST

START_TEST(header_of_an_earlier_version_has_no_reports)
{
	struct kf_snapshot s;

	make(0);
	stacks[3].hash = 1;
	report(0, 5, 2, 3);
	f.header->minor = 9;
	f.header->reports.offset = UINT32_MAX;
	s = read_file(KF_TABLE_STACKS | KF_TABLE_REPORTS);
	ck_assert_uint_eq(s.nr_reports, 0);
	kf_snapshot_release(&s);
	f.header->minor = 10;
	support_write(&f, "tables");
	ck_assert_int_eq(support_result("tables"), KF_READ_DAMAGED);
	fixture_free(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		tables_are_read_when_asked_for,
		modules_that_cannot_hold_are_left_out,
		modules_of_older_files_have_more_path,
		header_of_an_earlier_version_has_no_modules,
		outer_frames_follow_those_of_the_stack,
		outer_frames_that_cannot_be_are_left_out,
		header_of_an_earlier_version_has_no_frames,
		longer_entries_of_a_later_version_are_read,
		entries_that_refer_to_nothing_are_left_out,
		tables_that_are_cut_are_damaged,
		moments_come_by_time,
		moments_that_cannot_be_are_left_out,
		header_of_an_earlier_version_has_no_moments,
		moments_behind_the_end_are_damage,
		reports_that_cannot_be_are_left_out,
		header_of_an_earlier_version_has_no_reports,
	};

	return unit_run("reader/tables", tests, KF_ARRAY_SIZE(tests));
}
