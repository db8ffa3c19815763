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
} spans[] = {
	{"to 1us", 1000},	   {"to 10us", 10000},
	{"to 100us", 100000},	   {"to 1ms", 1000000},
	{"to 10ms", 10000000},	   {"to 100ms", 100000000},
	{"to 1s", 1000000000},	   {"to 10s", 10000000000},
	{"to 100s", 100000000000}, {"longer", UINT64_MAX},
	{"not freed", 0},
};

#define NOT_FREED (KF_ARRAY_SIZE(spans) - 1)

static struct {
	uint64_t blocks;
	uint64_t bytes;
	uint64_t temporary;
	uint64_t foreign;
} sums[KF_ARRAY_SIZE(spans)];

/* The block that a thread allocated in its last call, or 0. */
static uint64_t *last_made;

enum { LIFETIME, BELOW, BLOCKS, SHARE, BYTES, MEAN, TEMPORARY, FOREIGN };

static const struct kf_column columns[] = {
	[LIFETIME] = {"LIFETIME", "lifetime", KF_CELL_TEXT},
	[BELOW] = {NULL, "below_seconds", KF_CELL_SECONDS},
	[BLOCKS] = {"BLOCKS", "blocks", KF_CELL_COUNT},
	[SHARE] = {"SHARE", "share_percent", KF_CELL_PERCENT},
	[BYTES] = {"BYTES", "bytes", KF_CELL_BYTES},
	[MEAN] = {"MEAN", "mean_bytes", KF_CELL_BYTES},
	[TEMPORARY] = {"TEMPORARY", "temporary_blocks", KF_CELL_COUNT},
	[FOREIGN] = {"FOREIGN", "foreign_frees", KF_CELL_COUNT},
};

static void begin(struct kf_report *r)
{
	last_made = kf_alloc(KF_HISTORY_MAX_THREADS, sizeof(*last_made));
}

static void step(struct kf_report *r, const struct kf_step *s)
{
	uint64_t *last;
	uint64_t age;
	size_t i = 0;

	if (!s->call)
		return;
	last = &last_made[s->event->thread];
	if (s->gone) {
		age = s->event->time - KF_MIN(s->old.time, s->event->time);
		while (age >= spans[i].below)
			i++;
		sums[i].blocks++;
		sums[i].bytes += s->old.size;
		sums[i].temporary += *last == s->old.address;
		sums[i].foreign += s->old.thread != s->event->thread;
	}
	*last = s->made ? s->block.address : 0;
}

static void see_live(const struct kf_block *b, void *arg)
{
	const struct kf_report *r = arg;

	if (!kf_replay_picks(&r->replay, b))
		return;
	sums[NOT_FREED].blocks++;
	sums[NOT_FREED].bytes += b->size;
}

static void add_row(struct kf_table *t, size_t i, uint64_t all)
{
	struct kf_cell *row = kf_table_row(t);
	uint64_t nr = sums[i].blocks;

	kf_cell_text(&row[LIFETIME], spans[i].name);
	row[BELOW].real = (double)spans[i].below / 1e9;
	row[BELOW].none = i >= NOT_FREED - 1;
	row[BLOCKS].count = nr;
	row[SHARE].real = all ? 100.0 * (double)nr / (double)all : 0;
	row[BYTES].count = sums[i].bytes;
	row[MEAN].count = nr ? sums[i].bytes / nr : 0;
	row[MEAN].none = !nr;
	row[TEMPORARY].count = sums[i].temporary;
	row[FOREIGN].count = sums[i].foreign;
}

static int end(struct kf_report *r)
{
	struct kf_table t;
	uint64_t all = 0;

	kf_blocks_each(&r->replay.blocks, see_live, r);
	for (size_t i = 0; i <= NOT_FREED; i++)
		all += sums[i].blocks;
	kf_table_init(&t, columns, KF_ARRAY_SIZE(columns));
	for (size_t i = 0; i <= NOT_FREED; i++) {
		if (sums[i].blocks)
			add_row(&t, i, all);
	}
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

static void release(void)
{
	free(last_made);
}

const struct kf_view kf_view_lifetimes = {
	.name = "lifetimes",
	.begin = begin,
	.step = step,
	.end = end,
	.release = release,
};
