/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables of konfiscator top that no other command has: processes, and size
 * classes over all processes.
 */
#include "config.h"

#include "cli/sizes.h"
#include "cli/screen/top.h"

#include <stdlib.h>

enum {
	PROCESS,
	PID,
	THREADS,
	LIVE,
	GROWTH,
	CACHED,
	FREE,
	HELD,
	RSS,
	MALLOC_RATE,
	FAIL,
	NR_PROCESS
};

static const struct kf_column process_columns[NR_PROCESS] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[THREADS] = {"THREADS", "threads", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[GROWTH] = {"GROWTH/s", "growth_per_second", KF_CELL_SIGNED},
	[CACHED] = {"CACHED", "cached_bytes", KF_CELL_BYTES},
	[FREE] = {"FREE", "free_bytes", KF_CELL_BYTES},
	[HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[RSS] = {"RSS", "resident_bytes", KF_CELL_BYTES},
	[MALLOC_RATE] = {"MALLOC/s", "mallocs_per_second", KF_CELL_RATE},
	[FAIL] = {"FAIL", "failed", KF_CELL_COUNT},
};

static double screen_rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

static uint64_t screen_growth(uint64_t now, uint64_t before, double seconds)
{
	return (uint64_t)(int64_t)((double)(int64_t)(now - before) / seconds);
}

static void screen_add_process(struct kf_table *t, const struct kf_file *f,
			       const struct kf_file *before, double seconds)
{
	static const struct kf_totals nothing;
	const struct kf_totals *is = &f->snap.totals;
	const struct kf_totals *was = before ? &before->snap.totals : &nothing;
	struct kf_cell *row = kf_table_row(t);
	char name[KF_PROCESS_NAME];

	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(f);
	row[THREADS].count = kf_snapshot_value(&f->snap, "threads");
	row[LIVE].count = is->live;
	row[GROWTH].count = screen_growth(is->live, was->live, seconds);
	row[CACHED].count = is->cached;
	row[FREE].count = is->free;
	row[HELD].count = is->held;
	row[RSS].count = kf_process_resident(f);
	row[MALLOC_RATE].real = screen_rate(is->mallocs, was->mallocs, seconds);
	row[FAIL].count = kf_snapshot_value(&f->snap, "failed");
	row[FAIL].mark = row[FAIL].count ? KF_MARK_BAD : KF_MARK_NONE;
}

void kf_top_processes(struct kf_table *t, const struct kf_cli *cli,
		      const struct kf_snapshots *now,
		      const struct kf_snapshots *then)
{
	kf_table_init(t, process_columns, NR_PROCESS);
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);

		if (kf_snapshots_wants(cli, f))
			screen_add_process(
				t, f, before,
				kf_snapshots_seconds(now, f, before, then));
	}
}

enum {
	SIZE,
	SIZE_LIVE,
	SIZE_GROWTH,
	BLOCKS,
	SIZE_MALLOCS,
	SIZE_FREES,
	EMPTY,
	FILLED,
	SLABS,
	NR_SIZE
};

static const struct kf_column screen_size_columns[NR_SIZE] = {
	[SIZE] = {"SIZE", "size_bytes", KF_CELL_BYTES},
	[SIZE_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[SIZE_GROWTH] = {"GROWTH/s", "growth_per_second", KF_CELL_SIGNED},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[SIZE_MALLOCS] = {"MALLOC/s", "mallocs_per_second", KF_CELL_RATE},
	[SIZE_FREES] = {"FREE/s", "frees_per_second", KF_CELL_RATE},
	[EMPTY] = {"HALF-EMPTY", "half_empty_bytes", KF_CELL_BYTES},
	[FILLED] = {"FILLED", "filled_percent", KF_CELL_PERCENT},
	[SLABS] = {"SLABS", "slabs", KF_CELL_COUNT},
};

/* A size class, summed over all processes. */
struct size {
	uint64_t bytes;
	uint64_t live;
	double growth; /* per second */
	double mallocs;
	double frees;
	uint64_t blocks;
	uint64_t carved;
	uint64_t empty;
	uint64_t slabs;
};

struct sizes {
	size_t nr;
	struct size *size;
};

/* Nearly all files have the same classes, so the same index is tried first. */
static struct size *screen_sizes_get(struct sizes *all, uint64_t bytes,
				     size_t at)
{
	if (at < all->nr && all->size[at].bytes == bytes)
		return &all->size[at];
	for (size_t i = 0; i < all->nr; i++) {
		if (all->size[i].bytes == bytes)
			return &all->size[i];
	}
	all->size[all->nr].bytes = bytes;
	return &all->size[all->nr++];
}

static void screen_sizes_add(struct sizes *all, const struct kf_snapshot *s,
			     const struct kf_snapshot *was, double seconds)
{
	static const struct kf_class_count nothing;

	for (unsigned int i = 0; i < s->nr_classes; i++) {
		const struct kf_class_count *c = &s->classes[i];
		const struct kf_class_count *b = &nothing;
		struct size *size = screen_sizes_get(all, c->bytes, i);
		uint64_t live = kf_size_live(s, i), lived = 0;

		if (was && i < was->nr_classes) {
			b = &was->classes[i];
			lived = kf_size_live(was, i);
		}
		size->live += live;
		size->growth += (double)(int64_t)(live - lived) / seconds;
		size->mallocs += screen_rate(c->mallocs, b->mallocs, seconds);
		size->frees += screen_rate(c->frees, b->frees, seconds);
		size->blocks += kf_class_blocks(c);
		size->carved += c->carved;
		size->empty += kf_size_empty(c);
		size->slabs += c->slabs;
	}
}

static void add_size_row(struct kf_table *t, const struct size *s)
{
	struct kf_cell *row = kf_table_row(t);

	row[SIZE].count = s->bytes;
	row[SIZE].none = !s->bytes;
	if (row[SIZE].none)
		kf_cell_text(&row[SIZE], "large");
	row[SIZE_LIVE].count = s->live;
	row[SIZE_GROWTH].count = (uint64_t)(int64_t)s->growth;
	row[BLOCKS].count = s->blocks;
	row[SIZE_MALLOCS].real = s->mallocs;
	row[SIZE_FREES].real = s->frees;
	row[EMPTY].count = s->empty;
	row[SLABS].count = s->slabs;
	row[EMPTY].none = row[SLABS].none = row[FILLED].none = !s->carved;
	if (s->carved)
		row[FILLED].real = 100 * (double)KF_MIN(s->blocks, s->carved) /
				   (double)s->carved;
}

void kf_top_sizes(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then)
{
	struct sizes all = {0};
	size_t room = 0;

	for (unsigned int i = 0; i < now->files.nr; i++)
		room += now->files.file[i].snap.nr_classes;
	all.size = kf_alloc(room, sizeof(*all.size));
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);

		if (kf_snapshots_wants(cli, f))
			screen_sizes_add(
				&all, &f->snap, before ? &before->snap : NULL,
				kf_snapshots_seconds(now, f, before, then));
	}
	kf_table_init(t, screen_size_columns, NR_SIZE);
	for (size_t i = 0; i < all.nr; i++) {
		if (all.size[i].mallocs > 0 || all.size[i].live ||
		    all.size[i].carved)
			add_size_row(t, &all.size[i]);
	}
	free(all.size);
}
