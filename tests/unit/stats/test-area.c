/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/area.c: tables that grow behind the slots, and stay where they are.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define MANY 5000
#define CHILD_OK 23

static struct kf_stats_tag *tag_at(uint32_t i)
{
	struct kf_stats_tag *tags = kf_stats_area_grow(KF_AREA_TAGS, i + 1);

	UNIT_REQUIRE(tags);
	return &tags[i];
}

static void name(struct kf_stats_tag *t, uint32_t i)
{
	*t = (struct kf_stats_tag){0};
	snprintf(t->name, sizeof(t->name), "tag %u", i);
	t->mallocs = t->allocated = i;
	t->state = KF_TAG_IN_USE;
}

/* A piece of the file; the hole between is not read. */
static void read_piece(void *buf, size_t size, uint64_t offset)
{
	FILE *f = fopen(kf_stats_path(), "rb");

	UNIT_REQUIRE(f && !fseek(f, (long)offset, SEEK_SET));
	UNIT_REQUIRE(fread(buf, 1, size, f) == size);
	fclose(f);
}

static struct kf_stats_header header(void)
{
	struct kf_stats_header h;
	struct stat st;

	read_piece(&h, sizeof(h), 0);
	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	UNIT_REQUIRE(h.total_size <= (uint64_t)st.st_size);
	return h;
}

static bool is_in_file(uint32_t i)
{
	struct kf_stats_header h = header();
	struct kf_stats_tag t, expected = {0};

	if (h.tags.nr <= i)
		return false;
	UNIT_REQUIRE(h.tags.entry_size == sizeof(t));
	read_piece(&t, sizeof(t), h.tags.offset + (uint64_t)i * sizeof(t));
	name(&expected, i);
	return !memcmp(&t, &expected, sizeof(t));
}

START_TEST(who_uses_none_has_none)
{
	uint32_t nr = 1;

	support_publish();
	UNIT_REQUIRE(!kf_stats_area(KF_AREA_TAGS, &nr));
	UNIT_REQUIRE(nr == 0);
	UNIT_REQUIRE(!kf_stats.area[KF_AREA_TAGS].base);
	UNIT_REQUIRE(header().tags.nr == 0);
	UNIT_REQUIRE(header().stacks.nr == 0);
}
END_TEST

START_TEST(table_grows_in_its_place_and_is_in_the_file)
{
	struct kf_stats_tag *first;
	struct stat st;

	support_publish();
	first = tag_at(0);
	for (uint32_t i = 1; i < MANY; i++) {
		name(tag_at(i), i);
		UNIT_REQUIRE(tag_at(i) == first + i);
	}
	UNIT_REQUIRE(is_in_file(1));
	UNIT_REQUIRE(is_in_file(MANY - 1));
	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	UNIT_REQUIRE(header().total_size == (uint64_t)st.st_size);
	/* A hole is a hole, where the file system has such. */
	UNIT_REQUIRE(st.st_blocks * 512 < 4 * (long)KF_MIB);
}
END_TEST

START_TEST(table_used_before_publication_is_in_the_file)
{
	struct kf_stats_conf conf;

	support_begin();
	name(tag_at(MANY), MANY);
	conf = support_conf();
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(kf_stats_path());
	UNIT_REQUIRE(is_in_file(MANY));
	name(tag_at(2 * MANY), 2 * MANY);
	UNIT_REQUIRE(is_in_file(2 * MANY));
}
END_TEST

START_TEST(slots_and_both_tables_grow_beside_each_other)
{
	struct kf_stats_stack *stacks;
	struct kf_slot *slot = NULL;
	struct kf_stats_header h;
	struct kf_slot in_file;

	support_publish();
	for (uint32_t i = 1; i < 400; i++) {
		slot = kf_stats_slot_take();
		slot->class[1].mallocs = i;
		name(tag_at(10 * i), 10 * i);
		stacks = kf_stats_area_grow(KF_AREA_STACKS, 10 * i);
		UNIT_REQUIRE(stacks);
		stacks[10 * i - 1].hash = i;
	}
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 0);
	h = header();
	UNIT_REQUIRE(h.slots.nr >= 399 && h.stacks.nr >= 3990);
	UNIT_REQUIRE(is_in_file(3990));
	read_piece(&in_file, sizeof(in_file),
		   h.slots.offset + 398 * sizeof(in_file));
	UNIT_REQUIRE(in_file.class[1].mallocs == 399);
}
END_TEST

START_TEST(table_has_an_end)
{
	support_publish();
	UNIT_REQUIRE(kf_stats_area_grow(KF_AREA_TAGS, 65536));
	UNIT_REQUIRE(!kf_stats_area_grow(KF_AREA_TAGS, 65537));
	UNIT_REQUIRE(!kf_stats_area_grow(KF_AREA_STACKS, UINT32_MAX));
	UNIT_REQUIRE(header().tags.nr == 65536);
}
END_TEST

START_TEST(table_goes_on_in_memory_where_the_file_cannot_grow)
{
	struct rlimit limit = {20 * KF_MIB, 20 * KF_MIB};
	struct kf_stats_header h;

	support_publish();
	name(tag_at(1), 1);
	UNIT_REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	name(tag_at(60000), 60000);
	UNIT_REQUIRE(tag_at(60000)->allocated == 60000);
	UNIT_REQUIRE(is_in_file(1));
	h = header();
	UNIT_REQUIRE(h.tags.nr && h.tags.nr < 60000);
}
END_TEST

static pid_t fork_now(bool with_handlers)
{
	pid_t pid;

	if (with_handlers)
		kf_stats_prepare_fork();
	pid = fork();
	if (pid == 0)
		kf_stats_fork_child();
	else if (with_handlers)
		kf_stats_parent_fork();
	return pid;
}

static void fill_in(struct kf_stats_tag *t)
{
	*t = (struct kf_stats_tag){
		.state = KF_TAG_IN_USE,
		.name = "left",
		.entered = 5,
		.mallocs = 10,
		.callocs = 3,
		.resized = 2,
		.frees = 4,
		.allocated = 1300,
		.freed = 600,
		.peak = 900,
		.remote_frees = 1,
		.remote_freed = 100,
	};
}

/* Sample 5 lives, and some of its stack were freed. */
static void fill_in_ages(void)
{
	struct kf_stats_sample *s = kf_stats_area_grow(KF_AREA_SAMPLES, 6);
	struct kf_stats_lifetimes *l = kf_stats_area_grow(KF_AREA_LIFETIMES, 2);
	struct kf_stats_cell *c = kf_stats_area_grow(KF_AREA_MAP, 2);
	struct kf_stats_mapping *m = kf_stats_area_grow(KF_AREA_MAPPINGS, 2);

	UNIT_REQUIRE(s && l && c && m);
	m[1].begin = 11;
	c[1].noted = 7;
	s[5] = (struct kf_stats_sample){
		.address = 0x5000, .born = 9, .stack = 1};
	l[1].bytes[3] = l[1].foreign = 23;
}

static bool child_has_the_samples(void)
{
	uint32_t nr;
	const struct kf_stats_sample *s = kf_stats_area(KF_AREA_SAMPLES, &nr);
	const struct kf_stats_lifetimes *l;
	const struct kf_stats_cell *c;
	const struct kf_stats_mapping *m;

	if (nr < 6 || s[5].address != 0x5000 || s[5].born != 9)
		return false;
	l = kf_stats_area(KF_AREA_LIFETIMES, &nr);
	if (nr < 2 || l[1].bytes[3] || l[1].foreign)
		return false;
	m = kf_stats_area(KF_AREA_MAPPINGS, &nr);
	if (nr < 2 || m[1].begin != 11)
		return false;
	c = kf_stats_area(KF_AREA_MAP, &nr);
	return nr >= 2 && !c[1].noted;
}

static bool samples_are_in_the_file(void)
{
	struct kf_stats_header h = header();
	struct kf_stats_sample s;

	if (h.samples.nr < 6 || h.samples.entry_size != sizeof(s))
		return false;
	read_piece(&s, sizeof(s), h.samples.offset + 5 * sizeof(s));
	return s.address == 0x5000;
}

static int check_child(void)
{
	struct kf_stats_conf conf = support_conf();
	struct kf_stats_tag *t = tag_at(7);

	if (kf_stats_tag_live(t) != 600 || kf_stats_tag_blocks(t) != 6 ||
	    t->inherited != 6 || t->mallocs || t->frees || t->entered ||
	    t->peak != 600 || strcmp(t->name, "left"))
		return 1;
	if (!child_has_the_samples())
		return 4;
	t->mallocs = 4711;
	kf_stats_publish(&conf, true);
	if (!samples_are_in_the_file())
		return 5;
	if (!kf_stats_path() || header().tags.nr < 8)
		return 2;
	name(tag_at(7), 7);
	name(tag_at(MANY), MANY);
	return is_in_file(7) && is_in_file(MANY) ? CHILD_OK : 3;
}

static void child_has_the_table(bool with_handlers)
{
	pid_t pid;
	int status;

	support_publish();
	fill_in(tag_at(7));
	fill_in_ages();
	pid = fork_now(with_handlers);
	if (pid == 0)
		_exit(check_child());
	status = support_join(pid);
	UNIT_REQUIRE(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), CHILD_OK);
	UNIT_REQUIRE(tag_at(7)->mallocs == 10);
	UNIT_REQUIRE(tag_at(7)->remote_frees == 1);
}

START_TEST(child_begins_with_what_is_live)
{
	child_has_the_table(true);
}
END_TEST

START_TEST(child_without_handlers_does_too)
{
	child_has_the_table(false);
}
END_TEST

START_TEST(truncation_is_survived)
{
	support_publish();
	name(tag_at(300), 300);
	UNIT_REQUIRE(!truncate(kf_stats_path(), 0));
	tag_at(300)->mallocs = 3;
	UNIT_REQUIRE(tag_at(300)->mallocs == 3);
	name(tag_at(MANY), MANY);
	UNIT_REQUIRE(tag_at(MANY)->allocated == MANY);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		who_uses_none_has_none,
		table_grows_in_its_place_and_is_in_the_file,
		table_used_before_publication_is_in_the_file,
		slots_and_both_tables_grow_beside_each_other,
		table_has_an_end,
		table_goes_on_in_memory_where_the_file_cannot_grow,
		child_begins_with_what_is_live,
		child_without_handlers_does_too,
		truncation_is_survived,
	};

	return unit_run("stats/area", tests, KF_ARRAY_SIZE(tests));
}
