/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The changes of tags between two snapshots, of each tag without the tags below
 * it, so that the changes add up. The largest change is the first row.
 */
#include "config.h"

#include "cli/tags/tags.h"

#include <stdlib.h>
#include <string.h>

enum { BEFORE, AFTER, CHANGE, BLOCKS, EVER, TAG };

static const struct kf_column changes_columns[] = {
	[BEFORE] = {"BEFORE", "before_bytes", KF_CELL_BYTES},
	[AFTER] = {"AFTER", "after_bytes", KF_CELL_BYTES},
	[CHANGE] = {"CHANGE", "change_bytes", KF_CELL_SIGNED},
	[BLOCKS] = {NULL, "change_blocks", KF_CELL_SIGNED},
	[EVER] = {"ALLOCATED", "allocated_bytes", KF_CELL_SIGNED},
	[TAG] = {"TAG", "tag", KF_CELL_TEXT},
};

/* An entry of both snapshots. */
struct change {
	uint32_t entry;
	uint64_t before;
	uint64_t after;
	int64_t blocks;
	int64_t ever;
};

static int64_t change_bytes(const struct change *c)
{
	return (int64_t)(c->after - c->before);
}

static uint64_t change_size(const struct change *c)
{
	int64_t n = change_bytes(c);

	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

/* The largest first; those of one size in the order of the trees. */
static int changes_by_size(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (change_size(x) != change_size(y))
		return change_size(x) < change_size(y) ? 1 : -1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static uint64_t tag_live_bytes(const struct kf_stats_tag *t)
{
	return kf_tags_live(t->allocated, t->freed + t->remote_freed);
}

/* "thread/tag/tag" */
static char *tag_path(const struct kf_tag_set *set, uint32_t entry)
{
	char *path = kf_format("%s", set->tag[entry].name);

	for (uint32_t at = set->tag[entry].parent; at;
	     at = set->tag[at].parent) {
		char *longer = kf_format("%s/%s", set->tag[at].name, path);

		free(path);
		path = longer;
	}
	return path;
}

static void changes_add_row(struct kf_table *t, const struct kf_tag_set *set,
			    const struct change *c)
{
	struct kf_cell *row = kf_table_row(t);
	char *path = tag_path(set, c->entry);

	row[BEFORE].count = c->before;
	row[AFTER].count = c->after;
	row[CHANGE].count = (uint64_t)change_bytes(c);
	row[CHANGE].mark = change_bytes(c) > 0 ? KF_MARK_WARN : KF_MARK_NONE;
	row[BLOCKS].count = (uint64_t)c->blocks;
	row[EVER].count = (uint64_t)c->ever;
	kf_cell_text(&row[TAG], path);
	free(path);
}

/* @both has the entries of @old at the same indexes, then new ones. */
static struct change tag_change(const struct kf_tag_set *old,
				const struct kf_tag_set *both, uint32_t entry)
{
	static const struct kf_stats_tag none;
	const struct kf_stats_tag *b = &both->tag[entry];
	const struct kf_stats_tag *a =
		entry < old->nr ? &old->tag[entry] : &none;

	return (struct change){
		.entry = entry,
		.before = tag_live_bytes(a),
		.after = tag_live_bytes(b),
		.blocks = (int64_t)(kf_stats_tag_blocks(b) -
				    kf_stats_tag_blocks(a)),
		.ever = (int64_t)(b->allocated - a->allocated),
	};
}

/* The entries of @old, with all figures zero. */
static void copy_places(struct kf_tag_set *to, const struct kf_tag_set *old)
{
	for (uint32_t i = 1; i < old->nr; i++)
		kf_tag_set_add(to, old->tag[i].parent, old->tag[i].name);
}

void kf_tags_diff(const struct kf_tag_set *then, const struct kf_tag_set *now,
		  bool all, const struct kf_cli *cli)
{
	struct kf_tag_set old = {0}, both = {0};
	struct change *change;
	struct kf_table t;

	kf_tag_set_merge(&old, then, NULL, NULL);
	copy_places(&both, &old);
	kf_tag_set_merge(&both, now, NULL, NULL);
	change = kf_alloc(both.nr, sizeof(*change));
	for (uint32_t i = 1; i < both.nr; i++)
		change[i] = tag_change(&old, &both, i);
	if (both.nr)
		qsort(change + 1, both.nr - 1, sizeof(*change),
		      changes_by_size);
	kf_table_init(&t, changes_columns, KF_ARRAY_SIZE(changes_columns));
	for (uint32_t i = 1; i < both.nr; i++) {
		if (all || change_bytes(&change[i]) || change[i].blocks ||
		    change[i].ever)
			changes_add_row(&t, &both, &change[i]);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
	free(change);
	kf_tag_set_release(&both);
	kf_tag_set_release(&old);
}
