/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view top: allocations by thread, function and size, the most bytes first.
 */
#include "config.h"

#include "cli/report/groups.h"

static struct kf_map top_view_groups = {.entry_size =
						sizeof(struct kf_group_sums)};

enum { THREAD, TID, FUNCTION, SIZE, ALLOCS, ALLOCATED, BLOCKS, LIVE };

static const struct kf_column top_view_columns[] = {
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
	[FUNCTION] = {"FUNCTION", "function", KF_CELL_TEXT},
	[SIZE] = {"SIZE", "size_bytes", KF_CELL_BYTES},
	[ALLOCS] = {"ALLOCS", "allocs", KF_CELL_COUNT},
	[ALLOCATED] = {"ALLOCATED", "allocated_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
};

static void top_view_step(struct kf_report *r, const struct kf_step *s)
{
	struct kf_group_sums *g;

	if (!s->made)
		return;
	g = kf_group_of(&top_view_groups, &s->block);
	g->allocs++;
	g->allocated += s->block.size;
}

static void top_view_add_row(const struct kf_report *r, struct kf_table *t,
			     const struct kf_group_sums *g)
{
	struct kf_cell *row = kf_table_row(t);

	kf_report_thread(r, kf_group_thread(g), &row[THREAD], &row[TID]);
	kf_cell_text(&row[FUNCTION], kf_group_function(g));
	row[SIZE].count = kf_group_size(g);
	row[ALLOCS].count = g->allocs;
	row[ALLOCATED].count = g->allocated;
	row[BLOCKS].count = g->live_blocks;
	row[LIVE].count = g->live;
}

static int top_view_end(struct kf_report *r)
{
	const struct kf_group_view view = {
		.groups = &top_view_groups,
		.columns = top_view_columns,
		.nr_columns = KF_ARRAY_SIZE(top_view_columns),
		.by_live = false,
		.add_row = top_view_add_row,
	};

	return kf_group_view_end(r, &view);
}

static void top_view_release(void)
{
	kf_map_release(&top_view_groups);
}

const struct kf_view kf_view_top = {
	.name = "top",
	.step = top_view_step,
	.end = top_view_end,
	.release = top_view_release,
};
