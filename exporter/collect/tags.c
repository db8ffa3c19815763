/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "tags": live memory of tags of living processes, by process name
 * and container. A program may have any number of tags: the largest of each
 * group have series of their own, the others share one. The series are gauges,
 * since they come and go with their size.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/groups/tags.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 100 /* of a group, with a series of their own */

/* A name in a group. */
struct row {
	const struct kf_group *group;
	const char *name;
	uint64_t live;
	uint64_t blocks;
};

struct rows {
	size_t nr;
	struct row *row;
};

static int tags_by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int tags_by_size(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? 1 : -1;
	return strcmp(x->name, y->name);
}

static bool member_has_tags(const struct kf_member *m)
{
	return m->group && !m->ended && !m->gone && m->nr_tags;
}

static void tags_take_member(struct rows *rows, const struct kf_member *m)
{
	for (unsigned int i = 0; member_has_tags(m) && i < m->nr_tags; i++)
		rows->row[rows->nr++] =
			(struct row){m->group, m->tags[i].name, m->tags[i].live,
				     m->tags[i].blocks};
}

static bool tags_gather(const struct kf_groups *g, struct rows *rows)
{
	const struct kf_member *m;
	size_t room = 0;

	for (size_t i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			room += member_has_tags(m) ? m->nr_tags : 0;
	}
	rows->row = calloc(room + 1, sizeof(*rows->row));
	if (!rows->row)
		return false;
	for (size_t i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			tags_take_member(rows, m);
	}
	qsort(rows->row, rows->nr, sizeof(*rows->row), tags_by_place);
	return true;
}

/* Merge rows with the same name. */
static void tags_merge(struct rows *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		if (!nr ||
		    tags_by_place(&rows->row[nr - 1], &rows->row[i]) != 0) {
			rows->row[nr++] = rows->row[i];
			continue;
		}
		rows->row[nr - 1].live += rows->row[i].live;
		rows->row[nr - 1].blocks += rows->row[i].blocks;
	}
	rows->nr = nr;
}

static void tags_add_row(struct kf_page *page, const char *labels,
			 const struct row *r)
{
	const struct kf_label label = {"tag", r->name};
	const char *all =
		kf_page_join(page, labels, kf_page_labels(page, &label, 1));

	kf_family_int(
		page,
		kf_page_family(page, "konfiscator_tag_live_bytes",
			       KF_METRIC_GAUGE, "bytes",
			       "bytes of live blocks allocated under a tag"),
		all, r->live);
	kf_family_int(page,
		      kf_page_family(page, "konfiscator_tag_live_blocks",
				     KF_METRIC_GAUGE, "",
				     "live blocks allocated under a tag"),
		      all, r->blocks);
}

/*
 * The rows of a group; a tag named like the remainder is part of the remainder.
 */
static void tags_add_group(struct kf_page *page, struct row *row, size_t nr)
{
	const char *labels = kf_group_labels(page, row->group);
	struct row rest = {.name = KF_OTHER};
	bool any = false;
	size_t shown = 0;

	kf_family_int(page,
		      kf_page_family(page, "konfiscator_tag_names",
				     KF_METRIC_GAUGE, "",
				     "different tags of the processes"),
		      labels, nr);
	qsort(row, nr, sizeof(*row), tags_by_size);
	for (size_t i = 0; i < nr; i++) {
		if (shown < MAX_NAMES && strcmp(row[i].name, KF_OTHER) != 0) {
			tags_add_row(page, labels, &row[i]);
			shown++;
			continue;
		}
		rest.live += row[i].live;
		rest.blocks += row[i].blocks;
		any = true;
	}
	if (any)
		tags_add_row(page, labels, &rest);
}

static bool tags_collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	struct rows rows = {0};
	bool done;

	if (!g)
		return false;
	done = tags_gather(g, &rows) && !kf_scrape_late(scrape);
	if (done)
		tags_merge(&rows);
	for (size_t i = 0, end; done && i < rows.nr; i = end) {
		end = i + 1;
		while (end < rows.nr &&
		       rows.row[end].group == rows.row[i].group)
			end++;
		tags_add_group(&scrape->page, &rows.row[i], end - i);
	}
	pthread_mutex_unlock(&g->lock);
	free(rows.row);
	return done;
}

const struct kf_collector kf_collect_tags = {
	.name = "tags",
	.help = "live memory by tag, at most 100 tags of each group",
	.collect = tags_collect,
};
