/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The call stacks of the tags in KONFISCATOR_TAG_STACKS, with their exact live
 * bytes. Equal stacks of several threads are one row.
 */
#include "config.h"

#include "cli/profile/profile.h"
#include "cli/tags/tags.h"

#include <stdlib.h>
#include <string.h>

#define CALLERS 6

enum { LIVE, BLOCKS, SHARE, TAG, STACK };

static const struct kf_column stacks_columns[] = {
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[SHARE] = {"OF-TAG", "percent_of_tag", KF_CELL_PERCENT},
	[TAG] = {"TAG", "tag", KF_CELL_TEXT},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

struct row {
	const char *tag;
	char *stack;
	uint64_t live;
	uint64_t blocks;
	uint64_t of_tag; /* bytes of all stacks of the tag */
};

static char *stack_of(const struct kf_site *site, bool full)
{
	if (site->stack->flags & KF_STACK_OVERFLOW)
		return kf_format("[stacks beyond the table]");
	if (!site->nr_frames)
		return kf_format("[no stack]");
	return kf_site_callers(site, 0, full ? site->nr_frames : CALLERS);
}

static int stacks_by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->tag, y->tag);

	return order ? order : kf_calls_compare(x->stack, y->stack);
}

/* The largest tag first, and in it the largest stack. */
static int stacks_by_size(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->of_tag != y->of_tag)
		return x->of_tag < y->of_tag ? 1 : -1;
	if (!strcmp(x->tag, y->tag) && x->live != y->live)
		return x->live < y->live ? 1 : -1;
	return stacks_by_name(a, b);
}

/* Merges equal rows; returns the number of rows that are left. */
static size_t stacks_merge(struct row *rows, size_t nr)
{
	size_t left = 0;

	qsort(rows, nr, sizeof(*rows), stacks_by_name);
	for (size_t i = 0; i < nr; i++) {
		if (left && !stacks_by_name(&rows[left - 1], &rows[i])) {
			kf_take_marks(&rows[left - 1].stack, rows[i].stack);
			rows[left - 1].live += rows[i].live;
			rows[left - 1].blocks += rows[i].blocks;
			free(rows[i].stack);
		} else {
			rows[left++] = rows[i];
		}
	}
	return left;
}

/* @rows are sorted by name. */
static void sum_tags(struct row *rows, size_t nr)
{
	size_t next;

	for (size_t i = 0; i < nr; i = next) {
		uint64_t sum = 0;

		for (next = i;
		     next < nr && !strcmp(rows[next].tag, rows[i].tag); next++)
			sum += rows[next].live;
		for (size_t k = i; k < next; k++)
			rows[k].of_tag = sum;
	}
}

static bool is_chosen(const struct kf_snapshot *s, const struct kf_site *site)
{
	uint32_t tag = site->stack->tag;

	return tag && tag < s->nr_tags && s->tags[tag].flags & KF_TAG_STACKS;
}

static size_t stacks_gather(const struct kf_prof *prof,
			    const struct kf_snapshot *s, bool full,
			    struct row *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];
		const struct kf_profile_count *c = &site->now;

		if (!is_chosen(s, site) || (!full && c->allocated <= c->freed))
			continue;
		rows[nr++] = (struct row){
			.tag = site->tag,
			.stack = stack_of(site, full),
			.live = kf_tags_live(c->allocated, c->freed),
			.blocks = kf_tags_live(c->allocated_blocks,
					       c->freed_blocks) /
				  KF_STATS_BLOCK_PARTS,
		};
	}
	nr = stacks_merge(rows, nr);
	sum_tags(rows, nr);
	return nr;
}

static void stacks_print(const struct kf_cli *cli, struct row *rows, size_t nr)
{
	struct kf_table t;

	qsort(rows, nr, sizeof(*rows), stacks_by_size);
	kf_table_init(&t, stacks_columns, KF_ARRAY_SIZE(stacks_columns));
	for (size_t i = 0; i < nr; i++) {
		struct kf_cell *row = kf_table_row(&t);

		row[LIVE].count = rows[i].live;
		row[BLOCKS].count = rows[i].blocks;
		if (rows[i].of_tag)
			row[SHARE].real = 100 * (double)rows[i].live /
					  (double)rows[i].of_tag;
		else
			row[SHARE].none = true;
		kf_cell_text(&row[TAG], rows[i].tag);
		kf_cell_text(&row[STACK], rows[i].stack);
		free(rows[i].stack);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
}

static bool any_chosen(const struct kf_snapshot *s)
{
	for (uint32_t i = 1; i < s->nr_tags; i++) {
		if (s->tags[i].flags & KF_TAG_STACKS)
			return true;
	}
	return false;
}

int kf_tags_stacks(const struct kf_cli *cli, const char *path, bool full)
{
	struct kf_prof prof = {
		.cli = cli,
		.path = path,
		.pick = {.metric = KF_METRIC_LIVE,
			 .group = KF_GROUP_TAG,
			 .at = -1},
	};
	struct kf_snapshot s;
	struct row *rows;
	int status = kf_tag_file_read(path, &s);

	if (!status)
		status = kf_prof_open(&prof);
	if (!status) {
		rows = kf_alloc(prof.nr_sites, sizeof(*rows));
		stacks_print(cli, rows, stacks_gather(&prof, &s, full, rows));
		free(rows);
		if (!any_chosen(&s))
			kf_note(cli,
				"tags: --stacks: the process takes no "
				"call stacks: KONFISCATOR_TAG_STACKS selects "
				"the tags");
	}
	kf_prof_close(&prof);
	kf_snapshot_release(&s);
	return status;
}
