/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tags of a file, summed by name: see tags.h.
 */
#include "config.h"

#include "base/saturate.h"
#include "exporter/groups/tags.h"
#include "exporter/buf.h"

#include <stdlib.h>
#include <string.h>

static int tag_by_name(const void *a, const void *b)
{
	const struct kf_stats_tag *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* A root has its thread's name, and usually no memory of its own. */
static bool tag_counts(const struct kf_stats_tag *t)
{
	return t->state != KF_TAG_FREE && (t->parent || t->allocated);
}

/* A free may be visible before its malloc. */
static uint64_t tag_at_least_none(uint64_t n)
{
	return n > (uint64_t)INT64_MAX ? 0 : n;
}

static void tag_add(struct kf_member_tag *to, const struct kf_stats_tag *t)
{
	to->live = kf_sum(to->live, tag_at_least_none(kf_stats_tag_live(t)));
	to->blocks =
		kf_sum(to->blocks, tag_at_least_none(kf_stats_tag_blocks(t)));
}

static void tag_add_up(struct kf_member *m,
		       const struct kf_stats_tag *const *tag, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!i || strcmp(tag[i]->name, tag[i - 1]->name) != 0)
			kf_utf8_clean(m->tags[m->nr_tags++].name, KF_NAME_SIZE,
				      tag[i]->name);
		tag_add(&m->tags[m->nr_tags - 1], tag[i]);
	}
}

bool kf_member_tags_note(struct kf_member *m, const struct kf_snapshot *s)
{
	const struct kf_stats_tag **tag;
	size_t nr = 0, names = 0;

	kf_member_tags_release(m);
	if (s->nr_tags < 2)
		return true;
	tag = calloc(s->nr_tags, sizeof(const struct kf_stats_tag *));
	if (!tag)
		return false;
	for (uint32_t i = 1; i < s->nr_tags; i++) {
		if (tag_counts(&s->tags[i]))
			tag[nr++] = &s->tags[i];
	}
	qsort(tag, nr, sizeof(const struct kf_stats_tag *), tag_by_name);
	for (size_t i = 0; i < nr; i++)
		names += !i || strcmp(tag[i]->name, tag[i - 1]->name) != 0;
	m->tags = calloc(names + 1, sizeof(*m->tags));
	if (m->tags)
		tag_add_up(m, tag, nr);
	free(tag);
	return m->tags != NULL;
}

void kf_member_tags_release(struct kf_member *m)
{
	free(m->tags);
	m->tags = NULL;
	m->nr_tags = 0;
}
