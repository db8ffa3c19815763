/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot of tags in JSON of any bytes: what is read of it can be put
 * together, written, and read once more.
 */
#include "config.h"

#include "cli/tags/set.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define MOST_FIGURE (((uint64_t)1 << 40) - 1)
#define ROOM ((size_t)8 << 20)

static size_t written;
static char room[ROOM];

/* What it complains of is its business: nobody reads it here. */
void kf_error(const char *fmt, ...)
{
}

void *kf_alloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	fuzz_require(p, "no memory");
	return p;
}

static bool take(void *arg, const char *bytes, size_t len)
{
	if (written + len > ROOM)
		return false;
	memcpy(room + written, bytes, len);
	written += len;
	return true;
}

static int read_from(struct kf_tag_set *set, const void *bytes, size_t size)
{
	FILE *in = fmemopen((void *)(uintptr_t)bytes, size, "r");
	int status;

	fuzz_require(in, "no memory");
	memset(set, 0, sizeof(*set));
	status = kf_tag_set_parse(set, in, "input");
	fclose(in);
	return status;
}

/* Sums of figures that no program comes to are no numbers of JSON's. */
static void bound(struct kf_tag_set *set)
{
	const size_t from = offsetof(struct kf_stats_tag, entered);
	const size_t to = offsetof(struct kf_stats_tag, reserved);

	for (uint32_t i = 0; i < set->nr; i++) {
		char *tag = (char *)&set->tag[i];

		for (size_t at = from; at < to; at += sizeof(uint64_t))
			*(uint64_t *)(void *)(tag + at) &= MOST_FIGURE;
		set->tag[i].failed &= MOST_FIGURE;
	}
	set->vm_size &= MOST_FIGURE;
	set->vm_rss &= MOST_FIGURE;
	set->untagged &= MOST_FIGURE;
}

static void write_and_read(const struct kf_tag_set *set)
{
	const struct kf_tags_sink sink = {take, NULL};
	struct kf_tags_view view;
	struct kf_tag_set again;
	bool whole;

	kf_tag_set_view(set, &view);
	written = 0;
	whole = kf_tags_write_json(&view, &sink);
	free(view.node);
	if (!whole)
		return;
	fuzz_require(!read_from(&again, room, written),
		     "what is written cannot be read");
	kf_tag_set_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_tag_set set, sum = {0};

	if (!size)
		return 0;
	if (!read_from(&set, data, size)) {
		bound(&set);
		write_and_read(&set);
		kf_tag_set_merge(&sum, &set, "all", NULL);
		write_and_read(&sum);
	}
	kf_tag_set_release(&set);
	kf_tag_set_release(&sum);
	return 0;
}
