/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "sizes": live blocks by size, with the bounds of the histogram of
 * allocations. Each range of sizes is a gauge: the buckets of a histogram would
 * fall at times, which Prometheus takes for a restart.
 */
#include "config.h"

#include "exporter/collect/collector.h"

#include <stdio.h>

static void sizes_add_group(struct kf_page *page, const struct kf_group *group)
{
	const char *labels = kf_group_labels(page, group);
	char bound[24];
	const struct kf_label label[] = {{"size", bound}};
	unsigned int i;

	for (i = 0; i <= KF_NR_SIZES; i++) {
		if (i < KF_NR_SIZES)
			snprintf(bound, sizeof(bound), "%.0f", kf_sizes[i]);
		else
			snprintf(bound, sizeof(bound), "larger");
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_size_live_blocks",
				KF_METRIC_GAUGE, "",
				"live blocks with at most this many usable bytes, and more than the next smaller size"),
			kf_page_join(page, labels,
				     kf_page_labels(page, label, 1)),
			group->now[KF_FIG_LIVE_SIZES + i]);
	}
}

static bool sizes_collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	const struct kf_group *group;

	if (!g)
		return false;
	for (group = g->groups; group; group = group->next) {
		if (group->processes)
			sizes_add_group(&scrape->page, group);
	}
	pthread_mutex_unlock(&g->lock);
	return true;
}

const struct kf_collector kf_collect_sizes = {
	.name = "sizes",
	.help = "live blocks by size, 13 series for each group",
	.off = true,
	.collect = sizes_collect,
};
