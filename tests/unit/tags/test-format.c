/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/compiler.h"
#include "tags/format-internal.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NR 64

static struct kf_stats_identity id = {.pid = 42, .comm = "program"};
static struct kf_stats_tag tags[NR];
static struct kf_tags_node nodes[NR];
static struct kf_tags_view view;

/* What a sink took; it takes @room bytes. */
static struct {
	char text[1 << 20];
	size_t len;
	size_t room;
	unsigned int nr_after_no;
	bool said_no;
} got;

static bool take(void *arg, const char *bytes, size_t len)
{
	got.nr_after_no += got.said_no;
	if (len > got.room - got.len) {
		got.said_no = true;
		return false;
	}
	memcpy(got.text + got.len, bytes, len);
	got.len += len;
	got.text[got.len] = '\0';
	return true;
}

static const struct kf_tags_sink sink = {.write = take};

static void begin(uint32_t nr)
{
	memset(tags, 0, sizeof(tags));
	memset(nodes, 0xa5, sizeof(nodes));
	view = (struct kf_tags_view){
		.id = &id, .tag = tags, .nr = nr, .node = nodes};
	memset(&got, 0, sizeof(got));
	got.room = sizeof(got.text) - 1;
}

static struct kf_stats_tag *put(uint32_t entry, uint32_t parent,
				const char *name, uint64_t allocated,
				uint64_t freed)
{
	struct kf_stats_tag *t = &tags[entry];

	t->state = KF_TAG_IN_USE;
	t->parent = parent;
	t->root = parent ? tags[parent].root : entry;
	t->depth = parent ? tags[parent].depth + 1 : 0;
	t->tid = 100;
	memcpy(t->name, name, strnlen(name, sizeof(t->name)));
	t->allocated = allocated;
	t->freed = freed;
	return t;
}

/* main(1) -> top(2) -> a(4) -> b(5), top -> b(3); a second thread 6. */
static void make_known(void)
{
	begin(7);
	put(1, 0, "main", 1000, 0)->vm_size = 5000;
	put(2, 1, "top", 24, 0);
	put(3, 2, "b", 504, 504);
	put(4, 2, "a", 304, 100)->remote_freed = 100;
	put(5, 4, "b", 504, 500)->entered = 7;
	put(6, 0, "other", 8000, 0)->tid = 200;
	kf_tags_prepare(&view);
}

static json_t *parse(void)
{
	json_error_t error;
	json_t *root;

	got.len = 0;
	ck_assert(kf_tags_write_json(&view, &sink));
	root = json_loadb(got.text, got.len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		ck_abort_msg("%s at %d: %s", error.text, error.position,
			     got.text);
	return root;
}

static json_int_t number(json_t *of, const char *key)
{
	ck_assert_msg(json_is_integer(json_object_get(of, key)), "%s", key);
	return json_integer_value(json_object_get(of, key));
}

static json_t *nested(json_t *of, const char *key)
{
	json_t *all = json_object_get(of, "nestedScopes");

	ck_assert_ptr_nonnull(json_object_get(all, key));
	return json_object_get(all, key);
}

START_TEST(sums_hold_all_that_is_below)
{
	make_known();
	ck_assert_uint_eq(view.nr_roots, 2);
	ck_assert_uint_eq(nodes[2].sum_allocated, 24 + 504 + 304 + 504);
	ck_assert_uint_eq(nodes[2].sum_freed, 504 + 200 + 500);
	ck_assert_uint_eq(view.allocated, 1000 + 1336 + 8000);
	ck_assert_uint_eq(view.freed, 1204);
}
END_TEST

START_TEST(siblings_come_with_the_largest_first)
{
	static const uint32_t want[] = {6, 1, 2, 4, 5, 3};
	uint32_t at = 0;

	make_known();
	for (size_t i = 0; i < KF_ARRAY_SIZE(want); i++) {
		at = kf_tags_next(&view, 0, at);
		ck_assert_uint_eq(at, want[i]);
	}
	ck_assert_uint_eq(kf_tags_next(&view, 0, at), 0);
	ck_assert_uint_eq(kf_tags_next(&view, 4, 5), 0);
	ck_assert_uint_eq(kf_tags_skip(&view, 1, 4), 3);
}
END_TEST

START_TEST(json_has_the_fields_of_malloc_tag)
{
	json_t *root, *tree, *main_scope, *a;

	make_known();
	view.vm_rss = UINT64_C(3) << 40;
	root = parse();
	ck_assert_int_eq(number(root, "nSchemaVersion"), KF_TAGS_SCHEMA);
	ck_assert_int_eq(number(root, "PID"), 42);
	ck_assert_int_eq(number(root, "vmRSSNowBytes"), INT64_C(3) << 40);
	ck_assert_int_eq(number(root, "nTotalNetTrackedBytes"), 9132);
	tree = json_object_get(root, "tree_for_TID100");
	ck_assert_int_eq(number(tree, "nTreeLevels"), 4);
	ck_assert_int_eq(number(tree, "nTreeNodesInUse"), 5);
	ck_assert_int_eq(number(tree, "nVmSizeAtCreation"), 5000);
	main_scope = json_object_get(tree, "scope_main");
	ck_assert_int_eq(number(main_scope, "nBytesTotalAllocated"), 2336);
	ck_assert_str_eq(json_string_value(json_object_get(
				 main_scope, "nWeightPercentage")),
			 "12.39");
	a = nested(nested(main_scope, "scope_top"), "scope_a");
	ck_assert_int_eq(number(a, "nBytesSelfAllocated"), 304);
	ck_assert_int_eq(number(a, "nBytesSelfFreed"), 200);
	ck_assert_int_eq(number(a, "nBytesSelfFreedByOthers"), 100);
	ck_assert_int_eq(number(nested(a, "scope_b"), "nTimesEntered"), 7);
	json_decref(root);
}
END_TEST

START_TEST(trees_of_ended_threads_keep_apart)
{
	json_t *root;

	begin(3);
	put(1, 0, "pool", 10, 0)->tid = 0;
	put(2, 0, "pool", 20, 0)->tid = 0;
	tags[1].state = tags[2].state = KF_TAG_FOLDED;
	kf_tags_prepare(&view);
	root = parse();
	for (int i = 1; i <= 2; i++) {
		json_t *tree = json_object_get(
			root, i == 1 ? "tree_for_TID0_1" : "tree_for_TID0_2");

		ck_assert_ptr_nonnull(json_object_get(tree, "scope_pool"));
	}
	json_decref(root);
}
END_TEST

START_TEST(what_looks_the_same_keeps_apart)
{
	char name[KF_STATS_TAG_NAME];
	json_t *root;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(5);
	put(1, 0, "main", 0, 0);
	put(2, 1, name, 10, 0);
	put(3, 1, name, 20, 0);
	put(4, 0, "of another time", 0, 0);
	kf_tags_prepare(&view);
	root = parse();
	ck_assert_ptr_nonnull(json_object_get(root, "tree_for_TID100"));
	ck_assert_ptr_nonnull(json_object_get(root, "tree_for_TID100_4"));
	json_decref(root);
}
END_TEST

START_TEST(empty_table_is_written)
{
	for (uint32_t nr = 0; nr < 2; nr++) {
		begin(nr);
		kf_tags_prepare(&view);
		json_decref(parse());
		ck_assert(kf_tags_write_dot(&view, &sink));
		ck_assert(kf_tags_write_tree(&view, 0, &sink));
	}
}
END_TEST

/* Outside escapes every quote has to be one that the format itself wrote. */
static unsigned int open_quotes(void)
{
	unsigned int nr = 0;

	for (const char *s = got.text; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '"')
			nr++;
	}
	return nr;
}

START_TEST(names_of_any_bytes_are_valid_everywhere)
{
	uint64_t chance = 1;

	for (int round = 0; round < 3000; round++) {
		char name[KF_STATS_TAG_NAME];
		uint32_t code;

		for (size_t i = 0; i < sizeof(name); i++)
			name[i] = (char)(1 + chance_below(&chance, 255));
		name[round % 64] = round % 3 ? '"' : '\\';
		begin(3);
		put(1, 0, name, 10, 0);
		put(2, 1, name, 10, 0);
		kf_tags_prepare(&view);
		json_decref(parse());
		got.len = 0;
		ck_assert(kf_tags_write_dot(&view, &sink));
		UNIT_REQUIRE(open_quotes() % 2 == 0);
		got.len = 0;
		ck_assert(kf_tags_write_tree(&view, KF_TREE_SMALL, &sink));
		for (const char *s = got.text; *s;) {
			size_t len = kf_utf8_decode(s, &code);

			UNIT_REQUIRE(len && (code >= ' ' || code == '\n'));
			s += len;
		}
	}
}
END_TEST

START_TEST(name_is_told_as_it_is)
{
	json_t *root, *tree;

	begin(2);
	put(1, 0, "a\"b\\c\nd\xff\xc3\xa9", 1, 0);
	kf_tags_prepare(&view);
	root = parse();
	tree = json_object_get(root, "tree_for_TID100");
	ck_assert_str_eq(json_string_value(json_object_get(tree, "ThreadName")),
			 "a\"b\\c\nd\\xff\xc3\xa9");
	json_decref(root);
}
END_TEST

START_TEST(no_two_names_are_told_alike)
{
	const char *const names[] = {"\xff", "\\xff", "\\x5cxff", "\\xFF",
				     "\\x"};
	char told[KF_ARRAY_SIZE(names)][80];

	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		json_t *root, *tree;

		begin(2);
		put(1, 0, names[i], 1, 0);
		kf_tags_prepare(&view);
		root = parse();
		tree = json_object_get(root, "tree_for_TID100");
		snprintf(
			told[i], sizeof(told[i]), "%s",
			json_string_value(json_object_get(tree, "ThreadName")));
		json_decref(root);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(told[i], told[k]);
	}
	ck_assert_str_eq(told[1], "\\x5cxff");
	ck_assert_str_eq(told[3], names[3]);
}
END_TEST

/* Whatever parents and depths say: an end, and no entry twice. */
START_TEST(damaged_tables_come_to_an_end)
{
	uint64_t chance = 7;

	for (int round = 0; round < 20000; round++) {
		bool seen[NR] = {false};
		uint64_t sum = 0;

		begin(NR);
		for (uint32_t i = 0; i < NR; i++) {
			tags[i].state = (uint32_t)chance_below(&chance, 3);
			tags[i].parent =
				(uint32_t)chance_below(&chance, NR + 2);
			tags[i].depth = (uint32_t)chance_below(&chance, 5);
			tags[i].allocated = chance_below(&chance, 1000);
		}
		if (round % 2)
			tags[5].depth = tags[6].parent = UINT32_MAX;
		kf_tags_prepare(&view);
		for (uint32_t at = 0; (at = kf_tags_next(&view, 0, at));) {
			UNIT_REQUIRE(at < NR && !seen[at]);
			UNIT_REQUIRE(tags[at].state != KF_TAG_FREE);
			seen[at] = true;
			sum += tags[at].allocated;
		}
		UNIT_REQUIRE(sum == view.allocated);
	}
	json_decref(parse());
}
END_TEST

START_TEST(sink_that_refuses_is_left_alone)
{
	make_known();
	for (size_t room = 0; room < 3000; room += 100) {
		memset(&got, 0, sizeof(got));
		got.room = room;
		ck_assert(!kf_tags_write_json(&view, &sink));
		ck_assert_uint_eq(got.nr_after_no, 0);
	}
}
END_TEST

START_TEST(times_are_those_of_the_c_library)
{
	struct kf_tags_out o;
	char want[64];

	for (time_t t = 0; t < (time_t)8e9; t += 86399 * 7) {
		struct tm tm;

		begin(0);
		kf_tags_out_begin(&o, &sink);
		kf_tags_out_time(&o, (uint64_t)t * 1000000000);
		ck_assert(kf_tags_out_end(&o));
		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y-%m-%d @ %H:%M:%S UTC", &tm);
		ck_assert_str_eq(got.text, want);
	}
}
END_TEST

START_TEST(bytes_are_rounded_to_three_digits)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{0, "0"},
		{1023, "1023"},
		{1024, "1.00Ki"},
		{1029, "1.00Ki"},
		{1030, "1.01Ki"},
		{10235, "10.0Ki"},
		{10239, "10.0Ki"},
		{10002416, "9.54Mi"},
		{1048500, "1023.9Ki"},
		{1048575, "1.00Mi"},
		{UINT64_MAX, "16.0Ei"},
	};

	for (size_t i = 0; i < KF_ARRAY_SIZE(cases); i++) {
		struct kf_tags_out o;

		begin(0);
		kf_tags_out_begin(&o, &sink);
		kf_tags_out_bytes(&o, cases[i].bytes, 0);
		ck_assert(kf_tags_out_end(&o));
		ck_assert_str_eq(got.text, cases[i].want);
	}
}
END_TEST

START_TEST(shares_do_not_overflow)
{
	ck_assert_uint_eq(kf_tags_share(1, 0), 0);
	ck_assert_uint_eq(kf_tags_share(1, 3), 3333);
	ck_assert_uint_eq(kf_tags_share(2, 1), 10000);
	ck_assert_uint_eq(kf_tags_share(UINT64_MAX / 2, UINT64_MAX), 4999);
	ck_assert_uint_eq(kf_tags_share(UINT64_MAX, UINT64_MAX), 10000);
}
END_TEST

START_TEST(tree_marks_where_most_bytes_live)
{
	begin(5);
	put(1, 0, "main", 0, 0);
	put(2, 1, "top", 0, 0);
	put(3, 2, "hot", 100000, 0);
	put(4, 2, "small", 100, 0);
	kf_tags_prepare(&view);
	ck_assert(kf_tags_write_tree(&view, 0, &sink));
	ck_assert_ptr_nonnull(strstr(got.text, "    top  <<<- hot path\n"));
	ck_assert_ptr_nonnull(strstr(got.text, " hot  <<<- hot leaf\n"));
	ck_assert_ptr_null(strstr(got.text, "small"));
	got.len = 0;
	ck_assert(kf_tags_write_tree(&view, KF_TREE_SMALL, &sink));
	ck_assert_ptr_nonnull(strstr(got.text, "small"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		sums_hold_all_that_is_below,
		siblings_come_with_the_largest_first,
		json_has_the_fields_of_malloc_tag,
		trees_of_ended_threads_keep_apart,
		what_looks_the_same_keeps_apart,
		empty_table_is_written,
		names_of_any_bytes_are_valid_everywhere,
		name_is_told_as_it_is,
		no_two_names_are_told_alike,
		damaged_tables_come_to_an_end,
		sink_that_refuses_is_left_alone,
		times_are_those_of_the_c_library,
		bytes_are_rounded_to_three_digits,
		shares_do_not_overflow,
		tree_marks_where_most_bytes_live,
	};

	return unit_run("tags/format", tests, KF_ARRAY_SIZE(tests));
}
