/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flame graph's data of a profile: every metric that is known, the chosen
 * one first, and the counts of each stack at up to MOMENTS of the snapshots.
 */
#include "config.h"

#include "cli/profile/graph.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS 60

/* A stack of the profile, and the call of the graph that has its counts. */
struct gather_pair {
	const struct kf_profile_stack *stack;
	struct kf_graph_call *call;
};

static const char *const gather_titles[KF_NR_METRICS] = {
	[KF_METRIC_LIVE] = "live bytes",
	[KF_METRIC_PEAK] = "live bytes at the peak",
	[KF_METRIC_PEAKS] = "the stacks' own peaks, an upper bound",
	[KF_METRIC_ALLOC] = "bytes ever allocated",
	[KF_METRIC_COUNT] = "blocks ever allocated",
	[KF_METRIC_BLOCKS] = "live blocks",
};

static int gather_by_stack(const void *a, const void *b)
{
	const struct gather_pair *x = a, *y = b;

	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void gather_add_column(const struct kf_prof *prof, struct kf_graph *g,
			      enum kf_metric metric[KF_NR_METRICS],
			      enum kf_metric m)
{
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (metric[i] == m)
			return;
	}
	if (!kf_metric_known(prof, m))
		return;
	metric[g->nr_columns] = m;
	g->column[g->nr_columns++] = (struct kf_graph_column){
		kf_metric_name(m), gather_titles[m], kf_metric_is_blocks(m)};
}

static void gather_add_sites(const struct kf_prof *prof, struct kf_graph *g)
{
	enum kf_metric metric[KF_NR_METRICS];
	struct kf_estimate value[KF_NR_METRICS];

	gather_add_column(prof, g, metric, prof->pick.metric);
	for (int m = 0; m < KF_NR_METRICS; m++)
		gather_add_column(prof, g, metric, (enum kf_metric)m);
	for (size_t i = 0; i < prof->nr_sites; i++) {
		for (size_t k = 0; k < g->nr_columns; k++)
			value[k] = kf_site_value(&prof->sites[i], metric[k]);
		kf_graph_add(g, prof, &prof->sites[i], value);
	}
}

/* The snapshots, evenly chosen, with the shown one and the last. */
static size_t gather_choose(const struct kf_prof *prof,
			    uint64_t moment[MOMENTS + 2])
{
	size_t step = prof->nr_levels / MOMENTS + 1, nr = 0;

	for (size_t i = 0; i < prof->nr_levels; i++) {
		uint64_t ns = prof->levels[i].time_ns;

		if ((i % step == 0 || i + 1 == prof->nr_levels ||
		     ns == prof->time_ns) &&
		    (!nr || moment[nr - 1] != ns))
			moment[nr++] = ns;
	}
	return nr;
}

static void gather_take(struct kf_graph *g, size_t m,
			const struct kf_profile_count *now,
			struct kf_graph_call *call)
{
	struct kf_profile_count *to;

	if (!now->allocated)
		return;
	if (!call->over)
		call->over = kf_alloc(g->nr_moments, sizeof(*call->over));
	to = &call->over[m];
	to->allocated += now->allocated;
	to->freed += now->freed;
	to->variance += now->variance;
	to->freed_variance += now->freed_variance;
}

static void gather_of_process(const struct kf_prof *prof, struct kf_graph *g,
			      const struct kf_prof_process *p,
			      const struct gather_pair *pair, size_t nr)
{
	size_t nr_stacks = p->profile->nr_stacks;
	struct kf_profile_count *counts = kf_alloc(nr_stacks, sizeof(*counts));
	const struct gather_pair *found;

	for (size_t m = 0; m < g->nr_moments; m++) {
		kf_prof_counts(prof, p, g->moment_ns[m], counts);
		for (size_t i = 0; i < nr_stacks; i++) {
			struct gather_pair key = {p->profile->stacks[i], NULL};

			found = bsearch(&key, pair, nr, sizeof(*pair),
					gather_by_stack);
			if (found)
				gather_take(g, m, &counts[i], found->call);
		}
	}
	free(counts);
}

static void gather_fill(const struct kf_prof *prof, struct kf_graph *g)
{
	struct gather_pair *pair = kf_alloc(prof->nr_sites, sizeof(*pair));

	for (size_t i = 0; i < prof->nr_sites; i++)
		pair[i] = (struct gather_pair){
			prof->sites[i].stack,
			kf_graph_find(g, prof, &prof->sites[i])};
	qsort(pair, prof->nr_sites, sizeof(*pair), gather_by_stack);
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			gather_of_process(prof, g, &prof->processes[i], pair,
					  prof->nr_sites);
	}
	free(pair);
}

void kf_graph_write_profile(const struct kf_prof *prof, FILE *out)
{
	uint64_t moment[MOMENTS + 2];
	struct kf_graph g = {.moment_ns = moment};
	size_t nr = gather_choose(prof, moment);

	gather_add_sites(prof, &g);
	if (nr > 1 && prof->nr_sites) {
		g.nr_moments = nr;
		while (g.shown + 1 < nr && moment[g.shown] < prof->time_ns)
			g.shown++;
		gather_fill(prof, &g);
	}
	kf_graph_write(&g, out);
	kf_graph_release(&g);
}
