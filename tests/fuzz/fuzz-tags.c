/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table of tags of any names and places: what is written of it is JSON, as a
 * reader of JSON sees it, and DOT and text are whole lines.
 */
#include "config.h"

#include "tags/format.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define NR 24
#define ROOM ((size_t)1 << 20)

struct text {
	char *bytes;
	size_t len;
};

static bool take(void *arg, const char *bytes, size_t len)
{
	struct text *t = arg;

	fuzz_require(t->len + len < ROOM, "the text does not end");
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	return true;
}

static void fill(struct kf_stats_tag *t, struct fuzz_in *in)
{
	memset(t, 0, sizeof(*t));
	t->state = (uint32_t)fuzz_number(in, 1) % 5;
	t->parent = (uint32_t)fuzz_number(in, 1);
	t->root = (uint32_t)fuzz_number(in, 1);
	t->tid = (int32_t)fuzz_number(in, 2);
	t->depth = (uint32_t)fuzz_number(in, 1);
	t->mallocs = fuzz_number(in, 1);
	t->allocated = fuzz_number(in, 8);
	t->freed = fuzz_number(in, 4);
	fuzz_text(in, t->name, sizeof(t->name));
}

static void check_json(const struct text *t)
{
	json_error_t error;
	json_t *root =
		json_loadb(t->bytes, t->len, JSON_DECODE_INT_AS_REAL, &error);

	fuzz_require(root, error.text);
	json_decref(root);
}

/* Quotes pair up in each line, and no control byte is in it. */
static void check_dot(const struct text *t)
{
	bool quoted = false;

	for (size_t i = 0; i < t->len; i++) {
		char c = t->bytes[i];

		fuzz_require(c == '\n' || c == '\t' || (unsigned char)c >= ' ',
			     "a control byte in the DOT");
		fuzz_require(c != '\n' || !quoted,
			     "a text in the DOT has no end in its line");
		if (c == '"')
			quoted = !quoted;
		else if (c == '\\' && quoted)
			i++;
	}
	fuzz_require(!quoted, "a text in the DOT has no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kf_stats_tag tag[NR];
	static struct kf_tags_node node[NR];
	static char room[ROOM];
	struct fuzz_in in = {data, size};
	struct kf_stats_identity id = {.pid = 1};
	struct kf_tags_view view = {
		.id = &id, .tag = tag, .nr = NR, .node = node};
	struct text text = {room, 0};
	const struct kf_tags_sink sink = {take, &text};

	fuzz_text(&in, id.comm, sizeof(id.comm));
	fuzz_text(&in, id.exe, sizeof(id.exe));
	view.now_ns = fuzz_number(&in, 8);
	view.vm_rss = fuzz_number(&in, 8);
	for (unsigned int i = 1; i < NR; i++)
		fill(&tag[i], &in);
	kf_tags_prepare(&view);
	fuzz_require(kf_tags_write_json(&view, &sink), "JSON was refused");
	check_json(&text);
	text.len = 0;
	fuzz_require(kf_tags_write_dot(&view, &sink), "DOT was refused");
	check_dot(&text);
	text.len = 0;
	kf_tags_write_tree(&view, KF_TREE_SMALL | KF_TREE_EXACT, &sink);
	kf_tags_write_tree(&view, 0, &sink);
	return 0;
}
