/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view leaks: the blocks that are live at the end, the most bytes first.
 */
#include "config.h"

#include "cli/report/groups.h"

static struct kf_map leaks_groups = {.entry_size =
					     sizeof(struct kf_group_sums)};

enum { LIVE, BLOCKS, SIZE, FUNCTION, THREAD, TID, OLDEST };

static const struct kf_column leaks_columns[] = {
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[SIZE] = {"SIZE", "size_bytes", KF_CELL_BYTES},
	[FUNCTION] = {"FUNCTION", "function", KF_CELL_TEXT},
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
	[OLDEST] = {"OLDEST", "oldest_seconds", KF_CELL_SECONDS},
};

static void leaks_add_row(const struct kf_report *r, struct kf_table *t,
			  const struct kf_group_sums *g)
{
	struct kf_cell *row = kf_table_row(t);

	row[LIVE].count = g->live;
	row[BLOCKS].count = g->live_blocks;
	row[SIZE].count = kf_group_size(g);
	kf_cell_text(&row[FUNCTION], kf_group_function(g));
	kf_report_thread(r, kf_group_thread(g), &row[THREAD], &row[TID]);
	row[OLDEST].real = (double)(r->replay.end_time - g->oldest) / 1e9;
}

static int leaks_end(struct kf_report *r)
{
	const struct kf_group_view view = {
		.groups = &leaks_groups,
		.columns = leaks_columns,
		.nr_columns = KF_ARRAY_SIZE(leaks_columns),
		.by_live = true,
		.add_row = leaks_add_row,
	};

	int status = kf_group_view_end(r, &view);

	return status ? status
		      : kf_report_leaks_status(r, r->replay.now.bytes, 0);
}

static void leaks_release(void)
{
	kf_map_release(&leaks_groups);
}

const struct kf_view kf_view_leaks = {
	.name = "leaks",
	.end = leaks_end,
	.release = leaks_release,
};
