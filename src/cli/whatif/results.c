/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of a replay, a row for each candidate, and the advice that follows
 * from it. A difference counts if no run of one candidate is as good as any run
 * of the other.
 */
#include "config.h"

#include "cli/whatif/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ALLOCATOR,
	SETTINGS,
	PEAK,
	PEAK_LEAST,
	PEAK_MOST,
	PEAK_SPREAD,
	MEAN,
	END,
	CPU,
	CPU_LEAST,
	CPU_MOST,
	CPU_SPREAD,
	WALL,
	FAULTS,
	FAILED,
	RUNS,
	LIVE,
	MALLOC_FROM,
	OVER,
	NR_COLUMNS
};

static const struct kf_column whatif_columns[] = {
	[ALLOCATOR] = {"ALLOCATOR", "allocator", KF_CELL_TEXT},
	[SETTINGS] = {NULL, "settings", KF_CELL_TEXT},
	[PEAK] = {"PEAK", "peak_bytes", KF_CELL_BYTES},
	[PEAK_LEAST] = {NULL, "peak_least_bytes", KF_CELL_BYTES},
	[PEAK_MOST] = {NULL, "peak_most_bytes", KF_CELL_BYTES},
	[PEAK_SPREAD] = {"+-", NULL, KF_CELL_PERCENT},
	[MEAN] = {"MEAN", "mean_bytes", KF_CELL_BYTES},
	[END] = {"END", "end_bytes", KF_CELL_BYTES},
	[CPU] = {"CPU", "cpu_seconds", KF_CELL_SECONDS},
	[CPU_LEAST] = {NULL, "cpu_least_seconds", KF_CELL_SECONDS},
	[CPU_MOST] = {NULL, "cpu_most_seconds", KF_CELL_SECONDS},
	[CPU_SPREAD] = {"+-", NULL, KF_CELL_PERCENT},
	[WALL] = {"WALL", "wall_seconds", KF_CELL_SECONDS},
	[FAULTS] = {"FAULTS", "page_faults", KF_CELL_COUNT},
	[FAILED] = {"FAILED", "failed_calls", KF_CELL_COUNT},
	[RUNS] = {NULL, "runs", KF_CELL_COUNT},
	[LIVE] = {NULL, "peak_live_bytes", KF_CELL_BYTES},
	[MALLOC_FROM] = {NULL, "malloc_from", KF_CELL_TEXT},
	[OVER] = {"OVER LIMIT", "over_limit_seconds", KF_CELL_SECONDS},
};

/* Half of the distance between the extremes, in percent. */
static double figure_spread(struct kf_figure f)
{
	return f.median > 0 ? (f.most - f.least) / 2 / f.median * 100 : 0;
}

static void add_bytes(struct kf_cell *row, const struct kf_candidate *c)
{
	struct kf_figure peak = kf_candidate_figure(c, KF_PEAK);

	row[PEAK].count = (uint64_t)peak.median;
	row[PEAK_LEAST].count = (uint64_t)peak.least;
	row[PEAK_MOST].count = (uint64_t)peak.most;
	row[PEAK_SPREAD].real = figure_spread(peak);
	row[PEAK_SPREAD].none = c->nr < 2;
	row[MEAN].count = (uint64_t)kf_candidate_figure(c, KF_MEAN).median;
	row[END].count = (uint64_t)kf_candidate_figure(c, KF_LAST).median;
}

static void add_times(struct kf_cell *row, const struct kf_candidate *c)
{
	struct kf_figure cpu = kf_candidate_figure(c, KF_CPU_NS);

	row[CPU].real = cpu.median / 1e9;
	row[CPU_LEAST].real = cpu.least / 1e9;
	row[CPU_MOST].real = cpu.most / 1e9;
	row[CPU_SPREAD].real = figure_spread(cpu);
	row[CPU_SPREAD].none = c->nr < 2;
	row[WALL].real = kf_candidate_figure(c, KF_WALL_NS).median / 1e9;
	row[FAULTS].count = (uint64_t)kf_candidate_figure(c, KF_FAULTS).median;
}

static void add_over(struct kf_cell *row, const struct kf_candidate *c)
{
	row[OVER].none = c->broken || c->over_ns < 0;
	row[OVER].real = c->over_ns / 1e9;
}

static void results_add_row(struct kf_table *t, const struct kf_whatif *w,
			    const struct kf_candidate *c)
{
	struct kf_cell *row = kf_table_row(t);

	kf_cell_text(&row[ALLOCATOR], c->name);
	kf_cell_text(&row[SETTINGS], c->settings ? c->settings : "");
	kf_cell_text(&row[MALLOC_FROM], c->from ? c->from : "");
	row[RUNS].count = c->nr;
	row[LIVE].count = w->script.peak_live;
	if (w->limit)
		add_over(row, c);
	if (c->broken || !c->nr) {
		for (int i = PEAK; i <= FAILED; i++)
			row[i].none = true;
		return;
	}
	add_bytes(row, c);
	add_times(row, c);
	row[FAILED].count = c->failed;
}

static bool figures_differ(struct kf_figure a, struct kf_figure b)
{
	return a.most < b.least || b.most < a.least;
}

/* "12 % less peak memory", where it differs by half a percent or more. */
static char *results_compare(const struct kf_candidate *c,
			     const struct kf_candidate *reference,
			     enum kf_measure m, const char *what)
{
	struct kf_figure a = kf_candidate_figure(c, m);
	struct kf_figure b = kf_candidate_figure(reference, m);
	double percent = b.median > 0 ? (a.median / b.median - 1) * 100 : 0;

	if (!figures_differ(a, b) || fabs(percent) < 0.5)
		return kf_format("about the same %s", what);
	return kf_format("%.0f %% %s %s", fabs(percent),
			 percent < 0 ? "less" : "more", what);
}

static int results_order(const void *a, const void *b)
{
	const struct kf_candidate *const *x = a, *const *y = b;
	double p = kf_candidate_figure(*x, KF_PEAK).median;
	double q = kf_candidate_figure(*y, KF_PEAK).median;

	return (p > q) - (p < q);
}

static void results_advise(const struct kf_whatif *w)
{
	const struct kf_candidate **ranked = kf_alloc(w->nr, sizeof(*ranked));
	const struct kf_candidate *reference = &w->candidates[0];
	char name[1024];
	size_t nr = 0;

	for (size_t i = 1; i < w->nr; i++) {
		const struct kf_candidate *c = &w->candidates[i];

		if (c->nr && !c->broken && !c->hidden)
			ranked[nr++] = c;
	}
	if (reference->broken || !reference->nr)
		nr = 0;
	qsort(ranked, nr, sizeof(*ranked), results_order);
	if (nr)
		printf("Compared with %s:\n",
		       kf_escape(name, sizeof(name), reference->name));
	for (size_t i = 0; i < nr; i++) {
		char *peak = results_compare(ranked[i], reference, KF_PEAK,
					     "peak memory");
		char *cpu = results_compare(ranked[i], reference, KF_CPU_NS,
					    "CPU time");

		printf("  %s: %s, %s%s\n",
		       kf_escape(name, sizeof(name), ranked[i]->name), peak,
		       cpu, ranked[i]->failed ? "; some calls failed" : "");
		free(peak);
		free(cpu);
	}
	free(ranked);
}

static void results_tell(const struct kf_whatif *w)
{
	char live[32];

	kf_human_bytes(live, sizeof(live), w->script.peak_live);
	if (w->nr_parts)
		printf("\nThe %zu recordings together had %s at the peak of "
		       "what they asked for.\n",
		       w->nr_parts, live);
	else
		printf("\nThe program had %s in %llu blocks at the peak of "
		       "what it asked for.\n",
		       live, (unsigned long long)w->script.peak_blocks);
	results_advise(w);
}

int kf_whatif_print(const struct kf_whatif *w)
{
	/* without --limit the last column is left out */
	size_t nr = w->limit ? NR_COLUMNS : OVER;
	bool any = false;
	struct kf_table t;

	kf_table_init(&t, whatif_columns, nr);
	for (size_t i = 0; i < w->nr; i++) {
		if (w->candidates[i].hidden)
			continue;
		results_add_row(&t, w, &w->candidates[i]);
		any |= !w->candidates[i].broken;
	}
	kf_table_print(&t, w->report.cli);
	kf_table_release(&t);
	if (w->report.cli->format == KF_FORMAT_TABLE && w->advise)
		results_tell(w);
	return any ? KF_EXIT_OK : KF_EXIT_FAILED;
}
