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

enum {
	PROCESS,
	PID,
	LIVE,
	ERROR,
	GROWTH,
	ALLOC_RATE,
	STACK,
	KEY,	 /* of the stack with the most live bytes in the row */
	LARGEST, /* its live bytes */
	NR_COLUMNS
};

static const struct kf_column sites_columns[NR_COLUMNS] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[GROWTH] = {"GROWTH/s", "growth_per_second", KF_CELL_SIGNED},
	[ALLOC_RATE] = {"ALLOC/s", "allocated_per_second", KF_CELL_BYTES},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
	[KEY] = {NULL, "key", KF_CELL_COUNT},
	[LARGEST] = {NULL, "largest", KF_CELL_BYTES},
};

struct known {
	uint64_t key;
	char *text;
	size_t nr_calls;
	char **calls; /* the innermost first, escaped */
};

static struct kf_map stack_names = {.entry_size = sizeof(struct known)};

/* The key has the process: stacks of different processes are different. */
static uint64_t stack_key(const struct kf_file *f,
			  const struct kf_stats_stack *s)
{
	return (s->hash ^ (f->snap.id.created_ns * 0x9e3779b97f4a7c15ULL)) | 1;
}

/* Entries of the map are not aligned. */
static struct known stack_known(uint64_t key)
{
	struct known known = {0};
	const void *entry = kf_map_find(&stack_names, key);

	if (entry)
		memcpy(&known, entry, sizeof(known));
	return known;
}

const char *kf_top_stack_text(uint64_t key)
{
	const char *text = stack_known(key).text;

	return text ? text : "?";
}

size_t kf_top_calls(uint64_t key)
{
	return stack_known(key).nr_calls;
}

const char *kf_top_call(uint64_t key, size_t call)
{
	return stack_known(key).calls[call];
}

/* "handle (app.py:12)", "parse (parse.c:7)", "inflate (libz.so.1)" */
static char *stack_call(const struct kf_frame *frame)
{
	char *call = kf_site_call(frame), *text, *escaped;
	size_t room;

	if (frame->address & KF_STATS_CALL)
		text = kf_format("%s", call);
	else if (frame->file && frame->line)
		text = kf_format("%s (%s:%u)", call, frame->file, frame->line);
	else
		text = kf_format("%s (%s)", call, frame->library);
	room = 4 * strlen(text) + 1;
	escaped = kf_alloc(room, 1);
	kf_escape(escaped, room, text);
	free(call);
	free(text);
	return escaped;
}

static void stack_set_name(uint64_t key, const struct kf_prof *prof,
			   const struct kf_site *site)
{
	struct known known = {.key = key, .nr_calls = site->nr_frames};
	bool is_new;
	void *entry = kf_entry(&stack_names, key, &is_new);

	if (!is_new)
		return;
	known.text = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
				     : kf_site_group(prof, site);
	known.calls = kf_alloc(known.nr_calls + 1, sizeof(*known.calls));
	for (size_t i = 0; i < known.nr_calls; i++)
		known.calls[i] = stack_call(site->frames[i]);
	memcpy(entry, &known, sizeof(known));
}

static bool is_shown(const struct kf_stats_stack *s)
{
	return s->hash && s->allocated > s->freed;
}

static bool all_have_names(const struct kf_file *f)
{
	for (uint32_t i = 0; i < f->snap.nr_stacks; i++) {
		if (is_shown(&f->snap.stacks[i]) &&
		    !stack_known(stack_key(f, &f->snap.stacks[i])).text)
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
					stack_key(f, &f->snap.stacks[entry]),
					&prof, site);
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

static struct kf_top_stack stack_figures(const struct kf_file *f,
					 uint32_t entry,
					 const struct kf_file *before,
					 double seconds)
{
	const struct kf_stats_stack *s = &f->snap.stacks[entry];
	const struct kf_stats_stack *was = stack_same_in(before, s, entry);
	struct kf_top_stack stack = {
		.file = f,
		.key = stack_key(f, s),
		.live = kf_estimate_stack(s, KF_ESTIMATE_LIVE),
	};

	stack.growth = (stack.live.value - live_of(was)) / seconds;
	if (s->allocated > was->allocated)
		stack.allocated =
			(double)(s->allocated - was->allocated) / seconds;
	return stack;
}

static void stacks_of_process(const struct kf_file *f,
			      const struct kf_file *before, double seconds,
			      kf_top_stack_fn *fn, void *arg)
{
	struct kf_top_stack stack;

	for (uint32_t i = 0; i < f->snap.nr_stacks; i++) {
		if (!is_shown(&f->snap.stacks[i]))
			continue;
		stack = stack_figures(f, i, before, seconds);
		fn(arg, &stack);
	}
}

void kf_top_stacks(const struct kf_cli *cli, const struct kf_snapshots *now,
		   const struct kf_snapshots *then, kf_top_stack_fn *fn,
		   void *arg)
{
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];
		const struct kf_file *before = kf_snapshots_same(then, f);
		double seconds = kf_snapshots_seconds(now, f, before, then);

		if (!kf_snapshots_wants(cli, f))
			continue;
		if (!all_have_names(f))
			find_names(cli, f);
		stacks_of_process(f, before, seconds, fn, arg);
	}
}

static void sites_add_stack(void *table, const struct kf_top_stack *stack)
{
	struct kf_cell *row = kf_table_row(table);
	char name[KF_PROCESS_NAME];

	kf_process_name(stack->file, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(stack->file);
	row[LIVE].count = (uint64_t)stack->live.value;
	row[ERROR].count = (uint64_t)kf_estimate_error(stack->live);
	row[GROWTH].count = (uint64_t)(int64_t)stack->growth;
	row[ALLOC_RATE].count = (uint64_t)stack->allocated;
	kf_cell_text(&row[STACK], kf_top_stack_text(stack->key));
	row[KEY].count = stack->key;
	row[LARGEST].count = row[LIVE].count;
}

static void sites_join(struct kf_cell *to, const struct kf_cell *from)
{
	to[LIVE].count += from[LIVE].count;
	kf_cell_add_error(&to[ERROR], &from[ERROR]);
	to[GROWTH].count += from[GROWTH].count;
	to[ALLOC_RATE].count += from[ALLOC_RATE].count;
	if (from[LARGEST].count > to[LARGEST].count) {
		to[LARGEST].count = from[LARGEST].count;
		to[KEY].count = from[KEY].count;
	}
}

void kf_top_sites(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then)
{
	kf_table_init(t, sites_columns, NR_COLUMNS);
	kf_top_stacks(cli, now, then, sites_add_stack, t);
	kf_table_merge(t, (const int[]){PROCESS, PID, STACK}, 3, sites_join);
}
