/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view sizes: the number of requests by size, in powers of two.
 */
#include "config.h"

#include "cli/report/report.h"

#include "base/bits.h"

#include <stdlib.h>

#define NR_ROWS 66 /* 0, 1, 2, 3 to 4, 5 to 8, ... */

static struct {
	uint64_t allocs;
	uint64_t allocated;
	uint64_t live;
	uint64_t live_blocks;
} sizes_sums[NR_ROWS];

enum { SIZE, MIN, MAX, ALLOCS, SHARE, ALLOCATED, LIVE_BLOCKS, LIVE };

static const struct kf_column sizes_columns[] = {
	[SIZE] = {"SIZE", NULL, KF_CELL_TEXT},
	[MIN] = {NULL, "min_bytes", KF_CELL_BYTES},
	[MAX] = {NULL, "max_bytes", KF_CELL_BYTES},
	[ALLOCS] = {"ALLOCS", "allocs", KF_CELL_COUNT},
	[SHARE] = {"SHARE", "share_percent", KF_CELL_PERCENT},
	[ALLOCATED] = {"ALLOCATED", "allocated_bytes", KF_CELL_BYTES},
	[LIVE_BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
};

static size_t sizes_row(uint64_t size)
{
	return size > 1 ? kf_ilog2(size - 1) + 2 : (size_t)size;
}

static uint64_t max_of(size_t row)
{
	return row == NR_ROWS - 1 ? UINT64_MAX : row ? 1ULL << (row - 1) : 0;
}

static void sizes_step(struct kf_report *r, const struct kf_step *s)
{
	size_t row = sizes_row(s->block.size);

	if (s->made) {
		sizes_sums[row].allocs++;
		sizes_sums[row].allocated += s->block.size;
	}
}

static void sizes_see_live(const struct kf_block *b, void *arg)
{
	const struct kf_report *r = arg;
	size_t row = sizes_row(b->size);

	if (!kf_replay_picks(&r->replay, b))
		return;
	sizes_sums[row].live += b->size;
	sizes_sums[row].live_blocks++;
}

static void sizes_add_row(struct kf_table *t, size_t i, uint64_t all)
{
	struct kf_cell *row = kf_table_row(t);
	uint64_t min = i ? max_of(i - 1) + 1 : 0;
	char from[32], to[32], *text;

	kf_human_bytes(from, sizeof(from), min);
	kf_human_bytes(to, sizeof(to), max_of(i));
	text = i < 3 ? kf_format("%s", to) : kf_format("%s to %s", from, to);
	kf_cell_text(&row[SIZE], text);
	free(text);
	row[MIN].count = min;
	row[MAX].count = max_of(i);
	row[ALLOCS].count = sizes_sums[i].allocs;
	row[SHARE].real =
		all ? 100.0 * (double)sizes_sums[i].allocs / (double)all : 0;
	row[ALLOCATED].count = sizes_sums[i].allocated;
	row[LIVE_BLOCKS].count = sizes_sums[i].live_blocks;
	row[LIVE].count = sizes_sums[i].live;
}

static int sizes_end(struct kf_report *r)
{
	struct kf_table t;
	uint64_t all = 0;

	kf_blocks_each(&r->replay.blocks, sizes_see_live, r);
	for (size_t i = 0; i < NR_ROWS; i++)
		all += sizes_sums[i].allocs;
	kf_table_init(&t, sizes_columns, KF_ARRAY_SIZE(sizes_columns));
	for (size_t i = 0; i < NR_ROWS; i++) {
		if (sizes_sums[i].allocs || sizes_sums[i].live_blocks)
			sizes_add_row(&t, i, all);
	}
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

const struct kf_view kf_view_sizes = {
	.name = "sizes",
	.step = sizes_step,
	.end = sizes_end,
};
