/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view lifetimes: how long blocks live, and how many are temporary, which
 * means freed by the next call of the thread that allocated them.
 */
#include "config.h"

#include "cli/report/report.h"

#include <stdlib.h>

static const struct {
	const char *name;
	uint64_t below; /* ns */
} lifetimes_spans[] = {
	{"to 1us", 1000},	   {"to 10us", 10000},
	{"to 100us", 100000},	   {"to 1ms", 1000000},
	{"to 10ms", 10000000},	   {"to 100ms", 100000000},
	{"to 1s", 1000000000},	   {"to 10s", 10000000000},
	{"to 100s", 100000000000}, {"longer", UINT64_MAX},
	{"not freed", 0},
};

#define NOT_FREED (KF_ARRAY_SIZE(lifetimes_spans) - 1)

static struct {
	uint64_t blocks;
	uint64_t bytes;
	uint64_t temporary;
	uint64_t foreign;
} lifetimes_sums[KF_ARRAY_SIZE(lifetimes_spans)];

/* The block that a thread allocated in its last call, or 0. */
static uint64_t *last_made;

enum { LIFETIME, BELOW, BLOCKS, SHARE, BYTES, MEAN, TEMPORARY, FOREIGN };

static const struct kf_column lifetimes_columns[] = {
	[LIFETIME] = {"LIFETIME", "lifetime", KF_CELL_TEXT},
	[BELOW] = {NULL, "below_seconds", KF_CELL_SECONDS},
	[BLOCKS] = {"BLOCKS", "blocks", KF_CELL_COUNT},
	[SHARE] = {"SHARE", "share_percent", KF_CELL_PERCENT},
	[BYTES] = {"BYTES", "bytes", KF_CELL_BYTES},
	[MEAN] = {"MEAN", "mean_bytes", KF_CELL_BYTES},
	[TEMPORARY] = {"TEMPORARY", "temporary_blocks", KF_CELL_COUNT},
	[FOREIGN] = {"FOREIGN", "foreign_frees", KF_CELL_COUNT},
};

static void lifetimes_begin(struct kf_report *r)
{
	last_made = kf_alloc(KF_HISTORY_MAX_THREADS, sizeof(*last_made));
}

static void lifetimes_step(struct kf_report *r, const struct kf_step *s)
{
	uint64_t *last;
	uint64_t age;
	size_t i = 0;

	if (!s->call)
		return;
	last = &last_made[s->event->thread];
	if (s->gone) {
		age = s->event->time - KF_MIN(s->old.time, s->event->time);
		while (age >= lifetimes_spans[i].below)
			i++;
		lifetimes_sums[i].blocks++;
		lifetimes_sums[i].bytes += s->old.size;
		lifetimes_sums[i].temporary += *last == s->old.address;
		lifetimes_sums[i].foreign += s->old.thread != s->event->thread;
	}
	*last = s->made ? s->block.address : 0;
}

static void lifetimes_see_live(const struct kf_block *b, void *arg)
{
	const struct kf_report *r = arg;

	if (!kf_replay_picks(&r->replay, b))
		return;
	lifetimes_sums[NOT_FREED].blocks++;
	lifetimes_sums[NOT_FREED].bytes += b->size;
}

static void lifetimes_add_row(struct kf_table *t, size_t i, uint64_t all)
{
	struct kf_cell *row = kf_table_row(t);
	uint64_t nr = lifetimes_sums[i].blocks;

	kf_cell_text(&row[LIFETIME], lifetimes_spans[i].name);
	row[BELOW].real = (double)lifetimes_spans[i].below / 1e9;
	row[BELOW].none = i >= NOT_FREED - 1;
	row[BLOCKS].count = nr;
	row[SHARE].real = all ? 100.0 * (double)nr / (double)all : 0;
	row[BYTES].count = lifetimes_sums[i].bytes;
	row[MEAN].count = nr ? lifetimes_sums[i].bytes / nr : 0;
	row[MEAN].none = !nr;
	row[TEMPORARY].count = lifetimes_sums[i].temporary;
	row[FOREIGN].count = lifetimes_sums[i].foreign;
}

static int lifetimes_end(struct kf_report *r)
{
	struct kf_table t;
	uint64_t all = 0;

	kf_blocks_each(&r->replay.blocks, lifetimes_see_live, r);
	for (size_t i = 0; i <= NOT_FREED; i++)
		all += lifetimes_sums[i].blocks;
	kf_table_init(&t, lifetimes_columns, KF_ARRAY_SIZE(lifetimes_columns));
	for (size_t i = 0; i <= NOT_FREED; i++) {
		if (lifetimes_sums[i].blocks)
			lifetimes_add_row(&t, i, all);
	}
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

static void lifetimes_release(void)
{
	free(last_made);
}

const struct kf_view kf_view_lifetimes = {
	.name = "lifetimes",
	.begin = lifetimes_begin,
	.step = lifetimes_step,
	.end = lifetimes_end,
	.release = lifetimes_release,
};
