/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A row for each name: its live bytes with and without the tags below it. If a
 * name is below itself, its bytes are counted once.
 */
#include "config.h"

#include "cli/tags/tags.h"

#include <stdlib.h>
#include <string.h>

enum { TAGNAME, INCL, EXCL, PARENT, OWN, TOTAL, BLOCKS, EVER, ENTERED };

static const struct kf_column flat_columns[] = {
	[TAGNAME] = {"TAGNAME", "tag", KF_CELL_TEXT},
	[INCL] = {"BytesIncl", "inclusive_bytes", KF_CELL_BYTES},
	[EXCL] = {"BytesExcl", "exclusive_bytes", KF_CELL_BYTES},
	[PARENT] = {"%Prnt", "percent_of_parents", KF_CELL_PERCENT},
	[OWN] = {"%Exc", "percent_exclusive", KF_CELL_PERCENT},
	[TOTAL] = {"%Totl", "percent_of_all", KF_CELL_PERCENT},
	[BLOCKS] = {NULL, "blocks", KF_CELL_COUNT},
	[EVER] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[ENTERED] = {NULL, "entered", KF_CELL_COUNT},
};

/* The sums for a name. */
struct sums {
	uint64_t incl;
	uint64_t excl;
	uint64_t parents;
	uint64_t blocks;
	uint64_t ever;
	uint64_t entered;
};

static const char *flat_name(const struct kf_tags_view *v, uint32_t entry)
{
	return v->tag[entry].name;
}

static uint64_t incl_of(const struct kf_tags_view *v, uint32_t entry)
{
	return kf_tags_live(v->node[entry].sum_allocated,
			    v->node[entry].sum_freed);
}

static bool is_below_itself(const struct kf_tags_view *v, uint32_t entry)
{
	for (uint32_t at = v->node[entry].parent; at; at = v->node[at].parent) {
		if (!strcmp(flat_name(v, at), flat_name(v, entry)))
			return true;
	}
	return false;
}

static void add_entry(struct sums *s, const struct kf_tags_view *v,
		      uint32_t entry)
{
	const struct kf_tags_node *n = &v->node[entry];

	s->excl += kf_tags_live(n->allocated, n->freed);
	s->blocks += kf_stats_tag_blocks(&v->tag[entry]);
	s->ever += n->allocated;
	s->entered += v->tag[entry].entered;
	if (is_below_itself(v, entry))
		return;
	s->incl += incl_of(v, entry);
	s->parents += n->parent ? incl_of(v, n->parent)
				: kf_tags_live(v->allocated, v->freed);
}

static double flat_percent(uint64_t part, uint64_t whole)
{
	return (double)kf_tags_share(part, whole) / 100;
}

static void flat_add_row(struct kf_table *t, const struct kf_tags_view *v,
			 const char *name, const struct sums *s)
{
	struct kf_cell *row = kf_table_row(t);

	kf_cell_text(&row[TAGNAME], name);
	row[INCL].count = s->incl;
	row[EXCL].count = s->excl;
	row[PARENT].real = flat_percent(s->incl, s->parents);
	row[OWN].real = flat_percent(s->excl, s->incl);
	row[TOTAL].real =
		flat_percent(s->incl, kf_tags_live(v->allocated, v->freed));
	row[BLOCKS].count = s->blocks;
	row[EVER].count = s->ever;
	row[ENTERED].count = s->entered;
}

static int flat_by_name(const void *a, const void *b, void *view)
{
	return strcmp(flat_name(view, *(const uint32_t *)a),
		      flat_name(view, *(const uint32_t *)b));
}

void kf_tags_flat_table(struct kf_table *t, const struct kf_tag_set *set)
{
	struct kf_tags_view v;
	uint32_t *entry = kf_alloc(set->nr, sizeof(*entry));
	size_t nr = 0;

	kf_tag_set_view(set, &v);
	for (uint32_t at = 0; v.nr && (at = kf_tags_next(&v, 0, at));)
		entry[nr++] = at;
	qsort_r(entry, nr, sizeof(*entry), flat_by_name, &v);
	kf_table_init(t, flat_columns, KF_ARRAY_SIZE(flat_columns));
	for (size_t i = 0; i < nr;) {
		const char *name = flat_name(&v, entry[i]);
		struct sums sums = {0};

		for (; i < nr && !strcmp(flat_name(&v, entry[i]), name); i++)
			add_entry(&sums, &v, entry[i]);
		flat_add_row(t, &v, name, &sums);
	}
	kf_table_sort(t, INCL);
	free(v.node);
	free(entry);
}

void kf_tags_flat(const struct kf_tag_set *set, const struct kf_cli *cli)
{
	struct kf_table t;

	kf_tags_flat_table(&t, set);
	kf_table_print(&t, cli);
	kf_table_release(&t);
}
