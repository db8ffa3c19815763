/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree of calls, built as jansson values: a call is an object with an array
 * of children.
 */
#include "config.h"

#include "exporter/site/flame.h"
#include "exporter/site/names.h"
#include "reader/estimate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum kf_estimate_kind kind;
	const char *value;
	const char *error; /* the variance, until flame_finish() */
} flame_metrics[] = {
	{KF_ESTIMATE_LIVE, "live", "live_error_95"},
	{KF_ESTIMATE_ALLOCATED, "allocated", "allocated_error_95"},
	{KF_ESTIMATE_LIVE_BLOCKS, "live_blocks", "live_blocks_error_95"},
	{KF_ESTIMATE_ALLOCATED_BLOCKS, "allocated_blocks",
	 "allocated_blocks_error_95"},
};

static void flame_add_to(json_t *node, const char *key, double amount)
{
	json_t *sum = json_object_get(node, key);

	if (sum)
		json_real_set(sum, json_real_value(sum) + amount);
	else
		json_object_set_new(node, key, json_real(amount));
}

static void flame_count(json_t *node, const struct kf_stats_stack *s)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(flame_metrics); i++) {
		struct kf_estimate e =
			kf_estimate_stack(s, flame_metrics[i].kind);

		flame_add_to(node, flame_metrics[i].value, e.value);
		flame_add_to(node, flame_metrics[i].error, e.variance);
	}
	flame_add_to(node, "samples", (double)s->samples);
}

static void flame_round(json_t *node, const char *key, double number)
{
	json_object_set_new(node, key, json_integer((json_int_t)number));
}

/* The recursion is bounded: a tree is at most as deep as its stacks. */
static void flame_finish(json_t *node)
{
	struct kf_estimate e;
	json_t *child;
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(flame_metrics); i++) {
		e.value = json_real_value(
			json_object_get(node, flame_metrics[i].value));
		e.variance = json_real_value(
			json_object_get(node, flame_metrics[i].error));
		flame_round(node, flame_metrics[i].value, e.value);
		flame_round(node, flame_metrics[i].error, kf_estimate_error(e));
	}
	flame_round(node, "samples",
		    json_real_value(json_object_get(node, "samples")));
	json_array_foreach(json_object_get(node, "children"), i, child)
		flame_finish(child);
}

static json_t *flame_make(const char *name, const char *library)
{
	json_t *node = json_object();
	char clean[256];

	json_object_set_new(node, "name", json_string(name));
	if (library)
		json_object_set_new(node, "library",
				    json_string(kf_utf8_clean(
					    clean, sizeof(clean), library)));
	return node;
}

/* NULL when out of memory; jansson's functions accept NULL. */
static json_t *flame_child_of(json_t *node, const char *name,
			      const char *library)
{
	json_t *children = json_object_get(node, "children"), *child;
	const char *known;
	size_t i;

	if (!children) {
		children = json_array();
		json_object_set_new(node, "children", children);
	}
	json_array_foreach(children, i, child)
	{
		known = json_string_value(json_object_get(child, "name"));
		if (known && strcmp(known, name) == 0)
			return child;
	}
	child = flame_make(name, library);
	return json_array_append_new(children, child) ? NULL : child;
}

/* A call from several lines has a file without a line. */
static void flame_place(json_t *node, const struct kf_frame *frame)
{
	json_t *known = json_object_get(node, "file");
	char file[1024], place[1040];

	if (!frame->file || !frame->line)
		return;
	kf_utf8_clean(file, sizeof(file), frame->file);
	snprintf(place, sizeof(place), "%s:%u", file, frame->line);
	if (!known || strcmp(json_string_value(known), place) != 0)
		json_object_set_new(node, "file",
				    json_string(known ? file : place));
}

static const char *flame_no_stack(const struct kf_stats_stack *s)
{
	return s->flags & KF_STACK_OVERFLOW ? "[stacks beyond the table]"
					    : "[no stack]";
}

static bool flame_add_stack(json_t *root, const struct kf_snapshot *snapshot,
			    struct kf_symbols *names,
			    const struct kf_stats_stack *s)
{
	struct kf_calls calls;
	json_t *node = root;
	char name[KF_NAME_ROOM];

	if (!kf_names_calls(names, snapshot, s, &calls))
		return false;
	flame_count(root, s);
	if (!s->nr_frames) {
		node = flame_child_of(node, flame_no_stack(s), NULL);
		if (node)
			flame_count(node, s);
	}
	if (s->flags & KF_STACK_CUT) {
		node = flame_child_of(node, "[outer calls]", NULL);
		if (node)
			flame_count(node, s);
	}
	for (size_t i = calls.nr; node && i-- > 0;) {
		const struct kf_frame *frame = calls.frame[i];

		kf_names_text(frame, name);
		node = flame_child_of(
			node, name,
			strcmp(frame->library, "?") ? frame->library : NULL);
		if (node)
			flame_count(node, s);
		if (node)
			flame_place(node, frame);
		if (node && calls.recursive[i])
			json_object_set_new(node, "recursive", json_true());
	}
	return node;
}

static bool flame_write_tree(const struct kf_snapshot *s,
			     struct kf_symbols *names, struct kf_buf *out)
{
	json_t *root = flame_make("all", NULL);
	bool done = root;
	char *text;

	for (uint32_t i = 0; done && i < s->nr_stacks; i++)
		done = !s->stacks[i].hash ||
		       flame_add_stack(root, s, names, &s->stacks[i]);
	if (done)
		flame_finish(root);
	text = done ? json_dumps(root, JSON_COMPACT) : NULL;
	if (text)
		kf_buf_str(out, text);
	free(text);
	json_decref(root);
	return text;
}

bool kf_flame_write(struct kf_name_cache *cache,
		    const struct kf_subject *subject, struct kf_buf *out)
{
	struct kf_snapshot s = {0};
	struct kf_symbols *names;
	bool read;

	read = kf_subject_read(subject, KF_TABLE_STACKS, &s);
	if (read) {
		names = kf_names_open(cache, subject->pid, &s);
		if (!names || !flame_write_tree(&s, names, out))
			out->failed = true;
		kf_names_close(names);
	}
	kf_snapshot_release(&s);
	return read;
}
