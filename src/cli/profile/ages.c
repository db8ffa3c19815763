/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view ages of a profile: by stack, how old the live blocks are, how long
 * the freed ones lived, and which share another thread freed.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_ROWS 20
#define CALLERS 6
#define SHORT_SPAN 1 /* the last one of short lifetimes */
#define LAST_SPAN (KF_STATS_SPANS - 1)

/* Names of spans; their ends are those of struct kf_stats_lifetimes. */
static const struct {
	const char *text;
	const char *key;
} ages_spans[KF_STATS_SPANS] = {
	{"<1ms", "1ms"},	{"1-10ms", "10ms"},   {"10-100ms", "100ms"},
	{"0.1-1s", "1s"},	{"1-10s", "10s"},     {"10-100s", "100s"},
	{"100-1000s", "1000s"}, {"0.3-3h", "10000s"}, {"3-28h", "100000s"},
	{">28h", "longer"},
};

enum {
	AGES_KIND,
	AGES_LIVE,
	AGES_ERROR,
	AGES_OLDEST,
	AGES_MEAN,
	AGES_TO_1S,
	AGES_TO_10S,
	AGES_TO_100S,
	AGES_TO_1000S,
	AGES_OLDER,
	AGES_FREED,
	AGES_SHORT,
	AGES_SHORT_ERROR,
	AGES_LIFETIME,
	AGES_FOREIGN,
	AGES_FOREIGN_ERROR,
	AGES_SAMPLES,
	AGES_AGED,
	AGES_SPANS, /* live bytes, their error, and the same of freed bytes */
	AGES_TAG = AGES_SPANS + 4 * KF_STATS_SPANS,
	AGES_STACK,
	NR_AGES
};

static struct kf_column ages_columns[NR_AGES] = {
	[AGES_KIND] = {"KIND", "kind", KF_CELL_TEXT},
	[AGES_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[AGES_ERROR] = {"+-", "error_95", KF_CELL_BYTES, .spare = 3},
	[AGES_OLDEST] = {"OLDEST", "oldest_seconds", KF_CELL_SECONDS,
			 .spare = 5},
	[AGES_MEAN] = {NULL, "mean_seconds", KF_CELL_SECONDS},
	[AGES_TO_1S] = {"<1s", NULL, KF_CELL_PERCENT},
	[AGES_TO_10S] = {"<10s", NULL, KF_CELL_PERCENT},
	[AGES_TO_100S] = {"<100s", NULL, KF_CELL_PERCENT},
	[AGES_TO_1000S] = {"<1000s", NULL, KF_CELL_PERCENT},
	[AGES_OLDER] = {"OLDER", NULL, KF_CELL_PERCENT},
	[AGES_FREED] = {"FREED%", "freed_percent", KF_CELL_PERCENT, .spare = 6},
	[AGES_SHORT] = {"SHORT%", "short_percent", KF_CELL_PERCENT, .spare = 2},
	[AGES_SHORT_ERROR] = {NULL, "short_percent_error_95", KF_CELL_PERCENT},
	[AGES_LIFETIME] = {"LIFETIME", "lifetime", KF_CELL_TEXT, .spare = 4},
	[AGES_FOREIGN] = {"FOREIGN%", "foreign_percent", KF_CELL_PERCENT,
			  .spare = 1},
	[AGES_FOREIGN_ERROR] = {NULL, "foreign_percent_error_95",
				KF_CELL_PERCENT},
	[AGES_SAMPLES] = {NULL, "live_samples", KF_CELL_COUNT},
	[AGES_AGED] = {NULL, "live_samples_with_age", KF_CELL_COUNT},
	[AGES_TAG] = {"TAG", "tag", KF_CELL_TEXT},
	[AGES_STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

/* Sites that look the same. */
struct aged {
	const char *tag;
	char *stack;
	struct kf_estimate live;
	double allocated;
	uint64_t samples; /* live */
	struct kf_ages ages;
};

static struct aged aged_of(const struct kf_prof *prof,
			   const struct kf_site *site)
{
	const struct kf_profile_count *c = &site->now;

	return (struct aged){
		.tag = site->tag,
		.stack = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
					 : kf_site_group(prof, site),
		.live = kf_metric_of(c, KF_METRIC_LIVE),
		.allocated = (double)c->allocated,
		.samples = c->samples > c->freed_samples
				   ? c->samples - c->freed_samples
				   : 0,
		.ages = *site->ages,
	};
}

static int aged_by_place(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;
	int order = kf_calls_compare(x->stack, y->stack);

	return order ? order : strcmp(x->tag, y->tag);
}

/* What grows comes first. */
static int aged_by_live(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;
	bool grows = kf_ages_kind(&x->ages) == KF_AGES_GROWS;

	if (grows != (kf_ages_kind(&y->ages) == KF_AGES_GROWS))
		return grows ? -1 : 1;
	if (x->live.value != y->live.value)
		return x->live.value < y->live.value ? 1 : -1;
	if (x->allocated != y->allocated)
		return x->allocated < y->allocated ? 1 : -1;
	return aged_by_place(a, b);
}

static size_t aged_merge(struct aged *all, size_t nr)
{
	size_t left = 0;

	qsort(all, nr, sizeof(*all), aged_by_place);
	for (size_t i = 0; i < nr; i++) {
		struct aged *to = left ? &all[left - 1] : NULL;

		if (!to || aged_by_place(to, &all[i])) {
			all[left++] = all[i];
			continue;
		}
		kf_take_marks(&to->stack, all[i].stack);
		kf_metric_add(&to->live, &all[i].live);
		to->allocated += all[i].allocated;
		to->samples += all[i].samples;
		kf_ages_add(&to->ages, &all[i].ages);
		free(all[i].stack);
	}
	qsort(all, left, sizeof(*all), aged_by_live);
	return left;
}

static void ages_percent(struct kf_cell *cell, double part, double whole)
{
	cell->none = whole <= 0;
	if (whole > 0)
		cell->real = 100 * KF_MIN(part / whole, 1.0);
}

/* The shares of the live bytes by age, from span @first to @last. */
static void ages_share(struct kf_cell *cell, const struct kf_ages *a,
		       unsigned int first, unsigned int last)
{
	double before = first ? kf_ages_live(a, first - 1).value : 0;

	ages_percent(cell, kf_ages_live(a, last).value - before,
		     kf_ages_live(a, LAST_SPAN).value);
}

static void fill_ages(struct kf_cell *row, const struct kf_ages *a)
{
	row[AGES_OLDEST].none = row[AGES_MEAN].none = !a->samples;
	row[AGES_OLDEST].real = (double)a->oldest_ns / 1e9;
	row[AGES_MEAN].real = (double)a->mean_ns / 1e9;
	ages_share(&row[AGES_TO_1S], a, 0, 3);
	for (unsigned int i = 0; i < 3; i++)
		ages_share(&row[AGES_TO_10S + i], a, 4 + i, 4 + i);
	ages_share(&row[AGES_OLDER], a, 7, LAST_SPAN);
}

/* The span in which half of the freed bytes have died. */
static const char *usual_lifetime(const struct kf_ages *a)
{
	double half = kf_ages_freed(a, LAST_SPAN).value / 2;

	for (unsigned int i = 0; i < KF_STATS_SPANS && half > 0; i++) {
		if (kf_ages_freed(a, i).value >= half)
			return ages_spans[i].text;
	}
	return "";
}

static void fill_lifetimes(struct kf_cell *row, const struct aged *g)
{
	struct kf_estimate freed = kf_ages_freed(&g->ages, LAST_SPAN);
	struct kf_estimate brief = kf_ages_freed(&g->ages, SHORT_SPAN);

	ages_percent(&row[AGES_FREED], freed.value, g->allocated);
	ages_percent(&row[AGES_SHORT], brief.value, g->allocated);
	ages_percent(&row[AGES_SHORT_ERROR], kf_estimate_error(brief),
		     g->allocated);
	ages_percent(&row[AGES_FOREIGN], g->ages.foreign.value, freed.value);
	ages_percent(&row[AGES_FOREIGN_ERROR],
		     kf_estimate_error(g->ages.foreign), freed.value);
	kf_cell_text(&row[AGES_LIFETIME], usual_lifetime(&g->ages));
}

static void aged_row(struct kf_cell *row, const struct aged *g)
{
	const struct kf_ages *a = &g->ages;

	kf_cell_text(&row[AGES_KIND], kf_ages_kind_name(kf_ages_kind(a)));
	row[AGES_LIVE].count = (uint64_t)g->live.value;
	row[AGES_ERROR].count = (uint64_t)kf_estimate_error(g->live);
	row[AGES_SAMPLES].count = g->samples;
	row[AGES_AGED].count = a->samples;
	fill_ages(row, a);
	fill_lifetimes(row, g);
	for (unsigned int i = 0; i < KF_STATS_SPANS; i++) {
		struct kf_cell *cell = &row[AGES_SPANS + 4 * i];

		cell[0].count = (uint64_t)a->span[i].live.value;
		cell[1].count = (uint64_t)kf_estimate_error(a->span[i].live);
		cell[2].count = (uint64_t)a->span[i].freed.value;
		cell[3].count = (uint64_t)kf_estimate_error(a->span[i].freed);
	}
	kf_cell_text(&row[AGES_TAG], g->tag);
	kf_cell_text(&row[AGES_STACK], g->stack);
}

/* Columns of programs alone; their names live as long as the command. */
static void ages_name_spans(void)
{
	static const char *const names[] = {
		"live_to_%s_bytes", "live_to_%s_error_95", "freed_to_%s_bytes",
		"freed_to_%s_error_95"};
	static char room[4 * KF_STATS_SPANS][32];

	for (unsigned int i = 0; i < 4 * KF_STATS_SPANS; i++) {
		const char *name = names[i % 4];
		const char *key = ages_spans[i / 4].key;
		int before = (int)(strchr(name, '%') - name);

		snprintf(room[i], sizeof(room[i]), "%.*s%s%s", before, name,
			 key, name + before + 2);
		ages_columns[AGES_SPANS + i] =
			(struct kf_column){NULL, room[i], KF_CELL_BYTES};
	}
}

static bool ages_are_known(const struct kf_prof *prof)
{
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen &&
		    prof->processes[i].profile->nr_ages)
			return true;
	}
	return false;
}

/* Says why ages are missing. A few samples come and go while they are read. */
static void ages_tell_missing(const struct kf_report *r,
			      const struct kf_prof *prof,
			      const struct aged *all, size_t nr)
{
	uint64_t live = 0, aged = 0;

	for (size_t i = 0; i < nr; i++) {
		live += all[i].samples;
		aged += all[i].ages.samples;
	}
	if (nr && !ages_are_known(prof))
		kf_note(r->cli,
			"report: no ages: %s was made by an older version, by "
			"bpftrace, or had no room for them",
			r->path);
	else if (live > aged && live - aged > live / 100)
		kf_note(r->cli,
			"report: %llu of %llu live samples have no age: the stats file had no room for it",
			(unsigned long long)(live - aged),
			(unsigned long long)live);
}

static int show_ages(struct kf_report *r, struct kf_prof *prof)
{
	struct aged *all = kf_alloc(prof->nr_sites, sizeof(*all));
	size_t nr = prof->nr_sites;
	struct kf_table t;
	int status;

	ages_name_spans();
	for (size_t i = 0; i < nr; i++)
		all[i] = aged_of(prof, &prof->sites[i]);
	nr = aged_merge(all, nr);
	kf_table_init(&t, ages_columns, NR_AGES);
	for (size_t i = 0; i < nr; i++)
		aged_row(kf_table_row(&t), &all[i]);
	status = kf_report_table(r, &t, -1, USUAL_ROWS);
	ages_tell_missing(r, prof, all, nr);
	for (size_t i = 0; i < nr; i++)
		free(all[i].stack);
	free(all);
	return status;
}

const struct kf_prof_view kf_prof_view_ages = {"ages", show_ages};
