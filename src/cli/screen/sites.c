/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sampled stacks of all processes. Names are looked up once for each stack
 * and kept, as the look-up is slow in a large program.
 */
#include "config.h"

#include "cli/profile/profile.h"
#include "cli/screen/top.h"
#include "reader/estimate.h"

#include <stdlib.h>
#include <string.h>

#define CALLERS 6

enum { PROCESS, PID, LIVE, ERROR, GROWTH, ALLOC_RATE, STACK, NR_COLUMNS };

static const struct kf_column sites_columns[NR_COLUMNS] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[GROWTH] = {"GROWTH/s", "growth_per_second", KF_CELL_SIGNED},
	[ALLOC_RATE] = {"ALLOC/s", "allocated_per_second", KF_CELL_BYTES},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

struct known {
	uint64_t key;
	char *text;
};

static struct kf_map stack_names = {.entry_size = sizeof(struct known)};

/* The key has the process: stacks of different processes are different. */
static uint64_t stack_key(const struct kf_file *f,
			  const struct kf_stats_stack *s)
{
	return (s->hash ^ (f->snap.id.created_ns * 0x9e3779b97f4a7c15ULL)) | 1;
}

/* Entries of the map are not aligned. */
static const char *stack_name(const struct kf_file *f,
			      const struct kf_stats_stack *s)
{
	struct known known;
	const void *entry = kf_map_find(&stack_names, stack_key(f, s));

	if (!entry)
		return NULL;
	memcpy(&known, entry, sizeof(known));
	return known.text;
}

static void stack_set_name(const struct kf_file *f,
			   const struct kf_stats_stack *s, char *text)
{
	struct known known = {stack_key(f, s), text};
	bool is_new;
	void *entry = kf_entry(&stack_names, known.key, &is_new);

	if (is_new)
		memcpy(entry, &known, sizeof(known));
	else
		free(text);
}

static bool is_shown(const struct kf_stats_stack *s)
{
	return s->hash && s->allocated > s->freed;
}

static bool all_have_names(const struct kf_file *f)
{
	for (uint32_t i = 0; i < f->snap.nr_stacks; i++) {
		if (is_shown(&f->snap.stacks[i]) &&
		    !stack_name(f, &f->snap.stacks[i]))
			return false;
	}
	return true;
}

static void find_names(const struct kf_cli *cli, const struct kf_file *f)
{
	char *path = kf_format("%s/%s", f->dir, f->name);
	struct kf_prof prof = {.cli = cli, .path = path, .pick = {.at = -1}};

	if (!kf_prof_open(&prof)) {
		for (size_t i = 0; i < prof.nr_sites; i++) {
			const struct kf_site *site = &prof.sites[i];
			uint32_t entry = site->stack->entry;

			if (entry < f->snap.nr_stacks &&
			    f->snap.stacks[entry].hash)
				stack_set_name(
					f, &f->snap.stacks[entry],
					site->nr_frames
						? kf_site_callers(site, 0,
								  CALLERS)
						: kf_site_group(&prof, site));
		}
	}
	kf_prof_close(&prof);
	free(path);
}

static double live_of(const struct kf_stats_stack *s)
{
	return kf_estimate_stack(s, KF_ESTIMATE_LIVE).value;
}

static const struct kf_stats_stack *
stack_same_in(const struct kf_file *before, const struct kf_stats_stack *s,
	      uint32_t entry)
{
	static const struct kf_stats_stack nothing;

	if (before && entry < before->snap.nr_stacks &&
	    before->snap.stacks[entry].hash == s->hash)
		return &before->snap.stacks[entry];
	return &nothing;
}

static void sites_add_stack(struct kf_table *t, const struct kf_file *f,
			    uint32_t entry, const struct kf_file *before,
			    double seconds)
{
	const struct kf_stats_stack *s = &f->snap.stacks[entry];
	const struct kf_stats_stack *was = stack_same_in(before, s, entry);
	struct kf_estimate live = kf_estimate_stack(s, KF_ESTIMATE_LIVE);
	const char *stack = stack_name(f, s);
	struct kf_cell *row = kf_table_row(t);
	char name[KF_PROCESS_NAME];

	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(f);
	row[LIVE].count = (uint64_t)live.value;
	row[ERROR].count = (uint64_t)kf_estimate_error(live);
	row[GROWTH].count =
		(uint64_t)(int64_t)((live.value - live_of(was)) / seconds);
	if (s->allocated > was->allocated)
		row[ALLOC_RATE].count =
			(uint64_t)((double)(s->allocated - was->allocated) /
				   seconds);
	kf_cell_text(&row[STACK], stack ? stack : "?");
}

static void sites_join(struct kf_cell *to, const struct kf_cell *from)
{
	to[LIVE].count += from[LIVE].count;
	kf_cell_add_error(&to[ERROR], &from[ERROR]);
	to[GROWTH].count += from[GROWTH].count;
	to[ALLOC_RATE].count += from[ALLOC_RATE].count;
}

void kf_top_sites(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then)
{
	kf_table_init(t, sites_columns, NR_COLUMNS);
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);
		double seconds = kf_snapshots_seconds(now, f, before, then);

		if (!kf_snapshots_wants(cli, f))
			continue;
		if (!all_have_names(f))
			find_names(cli, f);
		for (uint32_t k = 0; k < f->snap.nr_stacks; k++) {
			if (is_shown(&f->snap.stacks[k]))
				sites_add_stack(t, f, k, before, seconds);
		}
	}
	kf_table_merge(t, (const int[]){PROCESS, PID, STACK}, 3, sites_join);
}
