/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tags over all threads and processes of one name. Figures are of the tag
 * without the tags below it, so that they add up.
 */
#include "config.h"

#include "cli/tags/table.h"

#include <stdlib.h>
#include <string.h>

enum {
	PROCESS,
	TAG,
	THREADS,
	LIVE,
	BLOCKS,
	MALLOC_RATE,
	BYTE_RATE,
	ENTER_RATE,
	ALLOCATED,
	FREED,
	MALLOCS,
	ENTERED,
	FAILED
};

static const struct kf_column items_columns[] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[TAG] = {"TAG", "tag", KF_CELL_TEXT},
	[THREADS] = {"THREADS", "threads", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[MALLOC_RATE] = {"MALLOC/s", "mallocs_per_second", KF_CELL_RATE},
	[BYTE_RATE] = {"BYTES/s", "bytes_per_second", KF_CELL_RATE},
	[ENTER_RATE] = {"ENTER/s", "entered_per_second", KF_CELL_RATE},
	[ALLOCATED] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[FREED] = {NULL, "freed_bytes", KF_CELL_BYTES},
	[MALLOCS] = {NULL, "mallocs", KF_CELL_COUNT},
	[ENTERED] = {NULL, "entered", KF_CELL_COUNT},
	[FAILED] = {NULL, "failed", KF_CELL_COUNT},
};

/* A tag of one tree of one file. */
struct item {
	char process[KF_PROCESS_NAME];
	const struct kf_stats_tag *tag;
	const struct kf_stats_tag *was; /* in the earlier snapshot, or zero */
	uint32_t file;
	double seconds; /* the interval of its rates */
};

struct items {
	size_t nr;
	struct item *item;
};

static int items_by_name(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int cmp = strcmp(x->process, y->process);

	if (!cmp)
		cmp = strcmp(x->tag->name, y->tag->name);
	if (!cmp)
		cmp = x->file < y->file ? -1 : x->file > y->file;
	if (!cmp)
		cmp = x->tag->root < y->tag->root ? -1
						  : x->tag->root > y->tag->root;
	return cmp;
}

static uint64_t mallocs_of(const struct kf_stats_tag *t)
{
	return t->mallocs + t->callocs + t->reallocs + t->aligned;
}

static double items_rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

static bool is_root_without_bytes(const struct kf_stats_tag *t)
{
	return !t->parent && !t->allocated;
}

static void items_add_file(struct items *list, const struct kf_file *f,
			   uint32_t file, const struct kf_file *before,
			   double seconds)
{
	static const struct kf_stats_tag nothing;

	for (uint32_t i = 1; i < f->snap.nr_tags; i++) {
		struct item *it = &list->item[list->nr];
		const struct kf_stats_tag *tag = &f->snap.tags[i];

		if (tag->state == KF_TAG_FREE || is_root_without_bytes(tag))
			continue;
		it->tag = tag;
		it->was = &nothing;
		/* the entry may have been reused for another tag */
		if (before && i < before->snap.nr_tags &&
		    !strcmp(before->snap.tags[i].name, tag->name))
			it->was = &before->snap.tags[i];
		it->file = file;
		it->seconds = seconds;
		kf_process_name(f, it->process);
		list->nr++;
	}
}

static void add_item(struct kf_cell *row, const struct item *it)
{
	const struct kf_stats_tag *t = it->tag, *was = it->was;
	uint64_t freed = t->freed + t->remote_freed;

	row[LIVE].count += t->allocated > freed ? t->allocated - freed : 0;
	row[BLOCKS].count += kf_stats_tag_blocks(t);
	row[MALLOC_RATE].real +=
		items_rate(mallocs_of(t), mallocs_of(was), it->seconds);
	row[BYTE_RATE].real +=
		items_rate(t->allocated, was->allocated, it->seconds);
	row[ENTER_RATE].real +=
		items_rate(t->entered, was->entered, it->seconds);
	row[ALLOCATED].count += t->allocated;
	row[FREED].count += freed;
	row[MALLOCS].count += mallocs_of(t);
	row[ENTERED].count += t->entered;
	row[FAILED].count += t->failed;
}

static bool same_row(const struct item *a, const struct item *b)
{
	return !strcmp(a->process, b->process) &&
	       !strcmp(a->tag->name, b->tag->name);
}

static bool same_thread(const struct item *a, const struct item *b)
{
	return a->file == b->file && a->tag->root == b->tag->root;
}

static void add_rows(struct kf_table *t, const struct items *list)
{
	struct kf_cell *row = NULL;

	for (size_t i = 0; i < list->nr; i++) {
		const struct item *it = &list->item[i], *last = it - 1;

		if (!i || !same_row(it, last)) {
			row = kf_table_row(t);
			kf_cell_text(&row[PROCESS], it->process);
			kf_cell_text(&row[TAG], it->tag->name);
			row[THREADS].count = 1;
		} else if (!same_thread(it, last)) {
			row[THREADS].count++;
		}
		add_item(row, it);
	}
}

void kf_tag_table(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then)
{
	struct items list = {0};
	size_t room = 0;

	for (unsigned int i = 0; i < now->files.nr; i++)
		room += now->files.file[i].snap.nr_tags;
	list.item = kf_alloc(room, sizeof(*list.item));
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);

		if (kf_snapshots_wants(cli, f))
			items_add_file(
				&list, f, i, before,
				kf_snapshots_seconds(now, f, before, then));
	}
	if (list.nr)
		qsort(list.item, list.nr, sizeof(*list.item), items_by_name);
	kf_table_init(t, items_columns, KF_ARRAY_SIZE(items_columns));
	add_rows(t, &list);
	free(list.item);
}
