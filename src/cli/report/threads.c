/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view threads: allocations and frees of each thread, frees of other
 * threads' blocks, and the time of slow calls.
 */
#include "config.h"

#include "cli/report/report.h"

#include <stdlib.h>

struct sums {
	uint64_t allocs;
	uint64_t allocated;
	uint64_t frees;
	uint64_t foreign; /* frees of other threads' blocks */
	uint64_t live;
	uint64_t live_blocks;
	uint64_t took; /* ns */
};

static struct sums *threads_sums;

enum {
	THREAD,
	TID,
	ALLOCS,
	ALLOCATED,
	FREES,
	FOREIGN,
	LIVE_BLOCKS,
	LIVE,
	TOOK
};

static const struct kf_column threads_columns[] = {
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
	[ALLOCS] = {"ALLOCS", "allocs", KF_CELL_COUNT},
	[ALLOCATED] = {"ALLOCATED", "allocated_bytes", KF_CELL_BYTES},
	[FREES] = {"FREES", "frees", KF_CELL_COUNT},
	[FOREIGN] = {"FOREIGN", "foreign_frees", KF_CELL_COUNT},
	[LIVE_BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[TOOK] = {"TIME", "time_seconds", KF_CELL_SECONDS},
};

static void threads_begin(struct kf_report *r)
{
	threads_sums = kf_alloc(KF_HISTORY_MAX_THREADS, sizeof(*threads_sums));
}

static void threads_step(struct kf_report *r, const struct kf_step *s)
{
	struct sums *t = &threads_sums[s->event->thread];

	if (s->made) {
		t->allocs++;
		t->allocated += s->block.size;
	}
	if (s->gone) {
		t->frees++;
		t->foreign += s->old.thread != s->event->thread;
	}
	if (s->picked)
		t->took += s->event->took;
}

static void threads_see_live(const struct kf_block *b, void *arg)
{
	const struct kf_report *r = arg;

	if (!kf_replay_picks(&r->replay, b))
		return;
	threads_sums[b->thread].live += b->size;
	threads_sums[b->thread].live_blocks++;
}

static int threads_end(struct kf_report *r)
{
	struct kf_table t;

	kf_blocks_each(&r->replay.blocks, threads_see_live, r);
	kf_table_init(&t, threads_columns, KF_ARRAY_SIZE(threads_columns));
	for (unsigned int i = 0; i < r->history.nr_threads; i++) {
		const struct sums *s = &threads_sums[i];
		struct kf_cell *row;

		if (!s->allocs && !s->frees && !s->live_blocks)
			continue;
		row = kf_table_row(&t);
		kf_report_thread(r, i, &row[THREAD], &row[TID]);
		row[ALLOCS].count = s->allocs;
		row[ALLOCATED].count = s->allocated;
		row[FREES].count = s->frees;
		row[FOREIGN].count = s->foreign;
		row[LIVE_BLOCKS].count = s->live_blocks;
		row[LIVE].count = s->live;
		row[TOOK].real = (double)s->took / 1e9;
	}
	return kf_report_table(r, &t, ALLOCATED, 40);
}

static void threads_release(void)
{
	free(threads_sums);
}

const struct kf_view kf_view_threads = {
	.name = "threads",
	.begin = threads_begin,
	.step = threads_step,
	.end = threads_end,
	.release = threads_release,
};
