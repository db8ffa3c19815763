/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the tags of a JSON snapshot of the library or of malloc-tag. Missing
 * fields are 0. Sums and weights are computed again, as the file is not
 * trusted.
 */
#include "config.h"

#include "cli/tags/set.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TREE "tree_for_TID"
#define SCOPE "scope_"
#define SCOPES "nestedScopes"

/* The first error ends the parsing; @path names the input in messages. */
struct input {
	const char *path;
	struct kf_tag_set *set;
	bool bad;
};

static void input_complain(struct input *in, const char *what, const char *key)
{
	if (!in->bad)
		kf_error("tags: %s: %s '%s'", in->path, what, key);
	in->bad = true;
}

static bool has_prefix(const char *key, const char *prefix)
{
	return !strncmp(key, prefix, strlen(prefix));
}

static uint64_t input_number(struct input *in, json_t *of, const char *key)
{
	json_t *n = json_object_get(of, key);

	if (!n)
		return 0;
	if (json_is_integer(n) && json_integer_value(n) >= 0)
		return (uint64_t)json_integer_value(n);
	input_complain(in, "not a number from 0 on:", key);
	return 0;
}

static void input_text(struct input *in, json_t *of, const char *key, char *dst,
		       size_t size)
{
	json_t *s = json_object_get(of, key);

	if (s && !json_is_string(s))
		input_complain(in, "not a text:", key);
	else if (s)
		snprintf(dst, size, "%s", json_string_value(s));
}

/* "2026-11-20 @ 22:26:49 UTC"; a time that cannot be parsed is 0. */
static uint64_t input_moment(struct input *in, json_t *of, const char *key)
{
	char s[64] = "";
	struct tm tm = {0};
	time_t t;

	input_text(in, of, key, s, sizeof(s));
	if (!strptime(s, "%Y-%m-%d @ %H:%M:%S", &tm))
		return 0;
	t = timegm(&tm);
	return t > 0 ? (uint64_t)t * 1000000000 : 0;
}

static uint64_t json_less(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

static void input_figures(struct input *in, json_t *o, struct kf_stats_tag *t)
{
	t->allocated = input_number(in, o, "nBytesSelfAllocated");
	t->remote_freed = input_number(in, o, "nBytesSelfFreedByOthers");
	t->freed = json_less(input_number(in, o, "nBytesSelfFreed"),
			     t->remote_freed);
	t->peak = input_number(in, o, "nBytesSelfPeak");
	t->left = input_number(in, o, "nTimesEnteredAndExited");
	t->entered = json_object_get(o, "nTimesEntered")
			     ? input_number(in, o, "nTimesEntered")
			     : t->left;
	t->mallocs = input_number(in, o, "nCallsTo_malloc");
	t->callocs = input_number(in, o, "nCallsTo_calloc");
	t->reallocs = input_number(in, o, "nCallsTo_realloc");
	t->aligned = input_number(in, o, "nCallsTo_aligned");
	t->remote_frees = input_number(in, o, "nCallsTo_freeByOthers");
	t->frees = json_less(input_number(in, o, "nCallsTo_free"),
			     t->remote_frees);
	t->resized = input_number(in, o, "nBlocksResized");
	t->inherited = input_number(in, o, "nBlocksInherited");
	t->failed = input_number(in, o, "nPushFailuresHere");
	kf_tag_bound(t);
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *p = strchr(digits, c);

	return c && p ? (int)(p - digits) : -1;
}

/* The entry of a key; \xNN in the key is a byte that JSON cannot hold. */
static uint32_t add_scope(struct input *in, uint32_t parent, const char *key)
{
	const char *s = key + strlen(SCOPE);
	char name[KF_STATS_TAG_NAME];
	size_t at = 0;

	for (; *s && at + 1 < sizeof(name); at++) {
		int byte = 0;

		if (s[0] == '\\' && s[1] == 'x' && hex_digit(s[2]) >= 0 &&
		    hex_digit(s[3]) >= 0)
			byte = hex_digit(s[2]) * 16 + hex_digit(s[3]);
		name[at] = byte ? (char)byte : *s;
		s += byte ? 4 : 1;
	}
	name[at] = '\0';
	return kf_tag_set_add(in->set, parent, name);
}

/* The parser's own limit of nesting bounds the recursion. */
static void input_scope(struct input *in, json_t *o, const char *key,
			uint32_t entry)
{
	json_t *below = json_object_get(o, SCOPES);
	const char *name;
	json_t *child;

	if (!json_is_object(o)) {
		input_complain(in, "not an object:", key);
		return;
	}
	input_figures(in, o, &in->set->tag[entry]);
	if (below && !json_is_object(below))
		input_complain(in, "not an object:", SCOPES);
	json_object_foreach(below, name, child)
	{
		if (in->bad)
			return;
		if (has_prefix(name, SCOPE))
			input_scope(in, child, name,
				    add_scope(in, entry, name));
	}
}

static void tree_facts(struct input *in, json_t *o, struct kf_stats_tag *t)
{
	struct kf_tag_set *set = in->set;
	uint64_t nodes = input_number(in, o, "nMaxTreeNodes");
	uint64_t levels = input_number(in, o, "nMaxTreeLevels");

	t->tid = (int32_t)KF_MIN(input_number(in, o, "TID"),
				 (uint64_t)INT32_MAX);
	t->vm_size = input_number(in, o, "nVmSizeAtCreation");
	if (json_is_true(json_object_get(o, "bThreadHasEnded")))
		t->state = KF_TAG_FOLDED;
	set->max_nodes = (uint32_t)KF_MIN(nodes, (uint64_t)UINT32_MAX);
	set->max_levels = (uint32_t)KF_MIN(levels, (uint64_t)UINT32_MAX);
}

static void input_tree(struct input *in, json_t *o, const char *key)
{
	const char *name;
	json_t *child;
	uint32_t root;

	if (!json_is_object(o))
		input_complain(in, "not an object:", key);
	json_object_foreach(o, name, child)
	{
		if (in->bad)
			return;
		if (!has_prefix(name, SCOPE))
			continue;
		root = add_scope(in, 0, name);
		tree_facts(in, o, &in->set->tag[root]);
		input_scope(in, child, name, root);
		/* malloc-tag has these for the whole tree only */
		if (!json_object_get(child, "nPushFailuresHere"))
			in->set->tag[root].failed =
				input_number(in, o, "nPushNodeFailures");
	}
}

static void input_snapshot(struct input *in, json_t *o)
{
	struct kf_tag_set *set = in->set;
	const char *key;
	json_t *value;

	set->id.pid = (int32_t)KF_MIN(input_number(in, o, "PID"),
				      (uint64_t)INT32_MAX);
	input_text(in, o, "Program", set->id.name, sizeof(set->id.name));
	input_text(in, o, "Executable", set->id.exe, sizeof(set->id.exe));
	set->started_ns = input_moment(in, o, "tmStartProfiling");
	set->now_ns = input_moment(in, o, "tmCurrentSnapshot");
	set->untagged = input_number(in, o, "nBytesAllocBeforeInit");
	set->self_usage = input_number(in, o, "nBytesMallocTagSelfUsage");
	set->vm_size = input_number(in, o, "vmSizeNowBytes");
	set->vm_rss = input_number(in, o, "vmRSSNowBytes");
	json_object_foreach(o, key, value)
	{
		if (has_prefix(key, TREE))
			input_tree(in, value, key);
	}
}

static bool is_snapshot(struct input *in, json_t *o)
{
	uint64_t schema;

	if (!json_is_object(o) || !json_object_get(o, "PID") ||
	    !json_object_get(o, "tmCurrentSnapshot")) {
		kf_error("tags: %s: not a snapshot of tags", in->path);
		return false;
	}
	schema = input_number(in, o, "nSchemaVersion");
	if (schema > KF_TAGS_SCHEMA)
		kf_error("tags: %s: snapshot version %llu is not supported: "
			 "this konfiscator reads version %u",
			 in->path, (unsigned long long)schema, KF_TAGS_SCHEMA);
	return schema <= KF_TAGS_SCHEMA && !in->bad;
}

int kf_tag_set_parse(struct kf_tag_set *set, FILE *in, const char *path)
{
	struct input input = {.path = path, .set = set};
	json_error_t error;
	json_t *o;

	memset(set, 0, sizeof(*set));
	o = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
	if (!o) {
		kf_error("tags: %s: neither a stats file nor JSON: line %d: %s",
			 path, error.line, error.text);
		return KF_EXIT_FAILED;
	}
	if (is_snapshot(&input, o))
		input_snapshot(&input, o);
	else
		input.bad = true;
	json_decref(o);
	if (!input.bad)
		return 0;
	kf_tag_set_release(set);
	return KF_EXIT_FAILED;
}
