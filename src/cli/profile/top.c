/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list views of a profile: top, by group, and leaks, by stack.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_ROWS 20
#define CALLERS 6

enum { VALUE, ERROR, SHARE, TOTAL, SAMPLES, WHAT, WHERE, NR_TOP };

static struct kf_column top_columns[NR_TOP] = {
	[VALUE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[SHARE] = {"SHARE", "share_percent", KF_CELL_PERCENT},
	[TOTAL] = {"WITH-CALLED", "with_called", KF_CELL_BYTES, .spare = 2},
	[SAMPLES] = {"SAMPLES", "samples", KF_CELL_COUNT, .spare = 1},
	[WHAT] = {"FUNCTION", "group", KF_CELL_TEXT, true},
	[WHERE] = {"CALLED-BY", "callers", KF_CELL_TEXT, true},
};

static const struct kf_column prof_columns[KF_NR_METRICS] = {
	[KF_METRIC_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[KF_METRIC_PEAK] = {"PEAK", "peak_bytes", KF_CELL_BYTES},
	[KF_METRIC_PEAKS] = {"OWN-PEAKS", "own_peaks_bytes", KF_CELL_BYTES},
	[KF_METRIC_ALLOC] = {"ALLOC", "allocated_bytes", KF_CELL_BYTES},
	[KF_METRIC_COUNT] = {"COUNT", "allocated_blocks", KF_CELL_COUNT},
	[KF_METRIC_BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
};

static const char *const prof_heads[KF_NR_GROUPINGS] = {
	[KF_GROUP_FUNCTION] = "FUNCTION", [KF_GROUP_LINE] = "LINE",
	[KF_GROUP_LIB] = "LIBRARY",	  [KF_GROUP_TAG] = "TAG",
	[KF_GROUP_THREAD] = "THREAD",	  [KF_GROUP_PROCESS] = "PROCESS",
};

/* The sums over the sites of a group. */
struct group {
	char *name;
	struct kf_estimate self;
	struct kf_estimate total; /* the group is anywhere in the stack */
	uint64_t samples;
	const struct kf_site *site; /* the largest */
	size_t last; /* index of the last site added to @total, plus 1 */
};

struct groups {
	size_t nr;
	struct group *group;
};

static struct group *prof_group(struct groups *all, const char *name)
{
	for (size_t i = 0; i < all->nr; i++) {
		if (!strcmp(all->group[i].name, name))
			return &all->group[i];
	}
	if (!(all->nr & (all->nr - 1))) {
		size_t room = all->nr ? 2 * all->nr : 1;

		all->group = realloc(all->group, room * sizeof(*all->group));
		if (!all->group) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
	}
	all->group[all->nr] = (struct group){.name = kf_format("%s", name)};
	return &all->group[all->nr++];
}

/* Adds a site to its groups; a recursive function counts once. */
static void prof_add_totals(const struct kf_prof *prof, struct groups *all,
			    size_t n)
{
	const struct kf_site *site = &prof->sites[n];
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	/* without the name of the process */
	for (size_t i = prof->nr_chosen > 1; i < nr; i++) {
		struct group *g = prof_group(all, labels[i]);

		if (g->last == n + 1)
			continue;
		g->last = n + 1;
		kf_metric_add(&g->total, &site->value);
	}
	kf_site_labels_free(labels, nr);
}

static void prof_gather(const struct kf_prof *prof, struct groups *all)
{
	bool by_frame = prof->pick.group != KF_GROUP_TAG &&
			prof->pick.group != KF_GROUP_THREAD &&
			prof->pick.group != KF_GROUP_PROCESS;

	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];
		char *name = kf_site_group(prof, site);
		struct group *g = prof_group(all, name);

		kf_metric_add(&g->self, &site->value);
		g->samples += site->now.samples;
		if (!g->site)
			g->site = site;
		if (!by_frame)
			kf_metric_add(&g->total, &site->value);
		free(name);
		if (by_frame)
			prof_add_totals(prof, all, i);
	}
}

static int by_self(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->self.value != y->self.value)
		return x->self.value < y->self.value ? 1 : -1;
	if (x->total.value != y->total.value)
		return x->total.value < y->total.value ? 1 : -1;
	return strcmp(x->name, y->name);
}

char *kf_site_callers(const struct kf_site *site, size_t from, size_t nr)
{
	char *text = kf_format("%s", "");

	for (size_t i = from; i < site->nr_frames && i - from < nr; i++) {
		char *call = kf_site_call(site->frames[i]);
		char *more =
			kf_format("%s%s%s%s", text, i > from ? " < " : "", call,
				  site->recursive[i] ? KF_RECURSIVE : "");

		free(call);
		free(text);
		text = more;
	}
	return text;
}

static void prof_fill_row(const struct kf_prof *prof, struct kf_cell *row,
			  const struct group *g)
{
	char *where = g->site ? kf_site_callers(g->site, 1, CALLERS)
			      : kf_format("%s", "");

	row[VALUE].count = (uint64_t)g->self.value;
	row[ERROR].count = (uint64_t)kf_estimate_error(g->self);
	if (prof->total.value > 0)
		row[SHARE].real = 100 * g->self.value / prof->total.value;
	else
		row[SHARE].none = true;
	row[TOTAL].count = (uint64_t)g->total.value;
	row[SAMPLES].count = g->samples;
	kf_cell_text(&row[WHAT], g->name);
	kf_cell_text(&row[WHERE], where);
	free(where);
}

static int show_top(struct kf_report *r, struct kf_prof *prof)
{
	struct groups all = {0};
	struct kf_table t;

	top_columns[VALUE] = prof_columns[prof->pick.metric];
	top_columns[ERROR].kind = prof_columns[prof->pick.metric].kind;
	top_columns[TOTAL].kind = prof_columns[prof->pick.metric].kind;
	top_columns[WHAT].head = prof_heads[prof->pick.group];
	prof_gather(prof, &all);
	if (all.nr)
		qsort(all.group, all.nr, sizeof(*all.group), by_self);
	kf_table_init(&t, top_columns, NR_TOP);
	for (size_t i = 0; i < all.nr; i++) {
		prof_fill_row(prof, kf_table_row(&t), &all.group[i]);
		free(all.group[i].name);
	}
	free(all.group);
	return kf_report_table(r, &t, -1, USUAL_ROWS);
}

enum {
	LEAK_LIVE,
	LEAK_ERROR,
	LEAK_GROWN,
	LEAK_BLOCKS,
	LEAK_FREED,
	LEAK_TAG,
	LEAK_STACK,
	NR_LEAK
};

static const struct kf_column leak_columns[NR_LEAK] = {
	[LEAK_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[LEAK_ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[LEAK_GROWN] = {"GROWN", "grown_bytes", KF_CELL_SIGNED},
	[LEAK_BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT, .spare = 1},
	[LEAK_FREED] = {"FREED%", "freed_percent", KF_CELL_PERCENT},
	[LEAK_TAG] = {"TAG", "tag", KF_CELL_TEXT},
	[LEAK_STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

struct leak {
	const char *tag;
	char *stack;
	struct kf_profile_count now;
	struct kf_estimate live;
	double grown;
};

static int by_place(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;
	int order = kf_calls_compare(x->stack, y->stack);

	return order ? order : strcmp(x->tag, y->tag);
}

static int by_growth(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;

	if (x->grown != y->grown)
		return x->grown < y->grown ? 1 : -1;
	if (x->live.value != y->live.value)
		return x->live.value < y->live.value ? 1 : -1;
	return 0;
}

static void leak_row(struct kf_cell *row, const struct leak *l)
{
	const struct kf_profile_count *c = &l->now;

	row[LEAK_LIVE].count = (uint64_t)l->live.value;
	row[LEAK_ERROR].count = (uint64_t)kf_estimate_error(l->live);
	row[LEAK_GROWN].count = (uint64_t)(int64_t)l->grown;
	row[LEAK_BLOCKS].count =
		c->allocated_blocks > c->freed_blocks
			? (c->allocated_blocks - c->freed_blocks) / 256
			: 0;
	if (c->allocated)
		row[LEAK_FREED].real =
			100 * (double)c->freed / (double)c->allocated;
	else
		row[LEAK_FREED].none = true;
	kf_cell_text(&row[LEAK_TAG], l->tag);
	kf_cell_text(&row[LEAK_STACK], l->stack);
}

static struct leak leak_of(const struct kf_prof *prof,
			   const struct kf_site *site)
{
	struct leak l = {
		.tag = site->tag,
		.now = site->now,
		.live = kf_metric_of(&site->now, KF_METRIC_LIVE),
	};

	l.stack = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
				  : kf_site_group(prof, site);
	l.grown = l.live.value;
	if (prof->snapshot != &prof->levels[0])
		l.grown -= kf_metric_of(&site->first, KF_METRIC_LIVE).value;
	return l;
}

/* Stacks that look the same are one row; returns the number of rows. */
static size_t leaks_merge(struct leak *leaks, size_t nr)
{
	size_t left = 0;

	qsort(leaks, nr, sizeof(*leaks), by_place);
	for (size_t i = 0; i < nr; i++) {
		struct leak *to = left ? &leaks[left - 1] : NULL;

		if (!to || by_place(to, &leaks[i])) {
			leaks[left++] = leaks[i];
			continue;
		}
		kf_take_marks(&to->stack, leaks[i].stack);
		kf_metric_add(&to->live, &leaks[i].live);
		to->grown += leaks[i].grown;
		to->now.allocated += leaks[i].now.allocated;
		to->now.freed += leaks[i].now.freed;
		to->now.allocated_blocks += leaks[i].now.allocated_blocks;
		to->now.freed_blocks += leaks[i].now.freed_blocks;
		free(leaks[i].stack);
	}
	return left;
}

/*
 * Live bytes, sorted by growth since the first snapshot: memory that was there
 * before and stayed has growth 0. With one snapshot the growth is the live
 * bytes.
 */
/*
 * Whether there are leaks is not known where no sample fell on what is live.
 * Returns the exit status, after a message where it is not 0.
 */
static int leaks_unknown(const struct kf_report *r, const struct kf_prof *prof)
{
	if (!r->fail_on_leak || prof->nr_sites || prof->pick.filter ||
	    !prof->snapshot || !prof->snapshot->live)
		return KF_EXIT_OK;
	kf_error(
		"report: --fail-on-leak: %llu bytes are live, but none of them was sampled: konfiscator record --exact samples every block",
		(unsigned long long)prof->snapshot->live);
	return KF_EXIT_FAILED;
}

static int show_leaks(struct kf_report *r, struct kf_prof *prof)
{
	struct leak *leaks = kf_alloc(prof->nr_sites, sizeof(*leaks));
	size_t nr = 0;
	struct kf_estimate live = {0};
	struct kf_table t;
	int status;

	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *s = &prof->sites[i];

		if (kf_metric_of(&s->now, KF_METRIC_LIVE).value > 0)
			leaks[nr++] = leak_of(prof, s);
	}
	nr = leaks_merge(leaks, nr);
	for (size_t i = 0; i < nr; i++)
		kf_metric_add(&live, &leaks[i].live);
	qsort(leaks, nr, sizeof(*leaks), by_growth);
	kf_table_init(&t, leak_columns, NR_LEAK);
	for (size_t i = 0; i < nr; i++) {
		leak_row(kf_table_row(&t), &leaks[i]);
		free(leaks[i].stack);
	}
	free(leaks);
	status = kf_report_table(r, &t, -1, USUAL_ROWS);
	if (!status)
		status = leaks_unknown(r, prof);
	if (status)
		return status;
	return kf_report_leaks_status(r, (uint64_t)live.value,
				      (uint64_t)kf_estimate_error(live));
}

const struct kf_prof_view kf_prof_view_top = {"top", show_top, true};
const struct kf_prof_view kf_prof_view_leaks = {"leaks", show_leaks};
