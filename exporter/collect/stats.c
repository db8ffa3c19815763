/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "stats": the counters of the stats files, by process name and
 * container.
 */
#include "config.h"

#include "exporter/collect/collector.h"
#include "exporter/groups/created.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void stats_add_figure(struct kf_page *page, const struct kf_figure *f,
			     const struct kf_group *group, const char *labels,
			     uint64_t value)
{
	bool grows = kf_figure_grows(f);
	struct kf_series *s = kf_family_int(
		page,
		kf_page_family(page, f->metric,
			       grows ? KF_METRIC_COUNTER : KF_METRIC_GAUGE,
			       f->unit, f->help),
		kf_page_join(page, labels, f->labels), value);

	if (grows)
		kf_series_created(s, kf_group_created(group, f));
}

/* NULL: there are none. */
static const struct kf_exemplar *stats_exemplars(struct kf_page *page,
						 const struct kf_group *group)
{
	struct kf_exemplar *e =
		kf_page_alloc(page, (KF_NR_SIZES + 1) * sizeof(*e));
	const struct kf_exemplar_block *block = group->exemplar;
	char pid[16], stack[24];
	const struct kf_label label[] = {{"stack_id", stack}, {"pid", pid}};
	unsigned int i;

	for (i = 0; e && i <= KF_NR_SIZES; i++, block++) {
		if (!block->ns)
			continue;
		snprintf(stack, sizeof(stack), "%016" PRIx64, block->stack);
		snprintf(pid, sizeof(pid), "%" PRId32, block->pid);
		e[i].labels = kf_page_labels(page, label, block->pid ? 2 : 1);
		e[i].value = (double)block->bytes;
		e[i].ns = block->ns;
	}
	return e;
}

static void stats_add_sizes(struct kf_page *page, const struct kf_groups *g,
			    const struct kf_group *group, const char *labels)
{
	const struct kf_figure *f = &g->figures.figure[KF_FIG_SIZES];
	const struct kf_histogram h = {
		.nr = KF_NR_SIZES,
		.le = kf_sizes,
		.count = &group->now[KF_FIG_SIZES],
		.sum = (double)group->now[KF_FIG_ALLOCATED],
		/* sizes are at least 16; sizes of larger blocks are not known
		 */
		.native = {.nr = KF_NR_SIZES + 1,
			   .schema = 0,
			   .first = 4,
			   .count = &group->now[KF_FIG_SIZES]},
		.exemplar =
			g->conf.exemplars ? stats_exemplars(page, group) : NULL,
	};

	kf_series_created(
		kf_family_histogram(page,
				    kf_page_family(page, f->metric,
						   KF_METRIC_HISTOGRAM, f->unit,
						   f->help),
				    labels, &h),
		kf_group_created(group, f));
}

static void stats_add_group(struct kf_page *page, const struct kf_groups *g,
			    const struct kf_group *group)
{
	const struct kf_figures *t = &g->figures;
	const char *labels = kf_group_labels(page, group);
	unsigned int i;

	/* added first, so that no file can redefine it */
	stats_add_sizes(page, g, group, labels);
	kf_family_int(page,
		      kf_page_family(page, "konfiscator_processes",
				     KF_METRIC_GAUGE, "",
				     "processes not known to have ended"),
		      labels, group->processes);
	for (i = 0; i < t->nr; i++) {
		if (t->figure[i].kind != KF_FIGURE_BUCKET &&
		    t->figure[i].kind != KF_FIGURE_LIVE)
			stats_add_figure(page, &t->figure[i], group, labels,
					 group->now[i]);
	}
	if (!group->oldest_ns)
		return;
	kf_family_double(
		page,
		kf_page_family(
			page, "konfiscator_oldest_start_time_seconds",
			KF_METRIC_GAUGE, "seconds",
			"start time of the oldest process, in seconds since the Unix epoch"),
		labels, (double)group->oldest_ns / 1e9);
}

static bool stats_collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	const struct kf_group *group;

	if (!g)
		return false;
	for (group = g->groups; group; group = group->next)
		stats_add_group(&scrape->page, g, group);
	kf_page_dropped(&scrape->page, "groups", g->dropped);
	pthread_mutex_unlock(&g->lock);
	return true;
}

const struct kf_collector kf_collect_stats = {
	.name = "stats",
	.help = "counters of the stats files",
	.collect = stats_collect,
};
