/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "cgroup": memory and limits of the cgroups of the processes. A
 * cgroup has one figure for all of its processes, so there is no sum over
 * processes.
 */
#include "config.h"

#include "exporter/groups/cgroups.h"
#include "exporter/collect/collector.h"

static void cgroup_add_events(struct kf_page *page, const char *labels,
			      const struct kf_cgroup_memory *m)
{
	struct kf_label event = {"event", NULL};
	unsigned int e;

	for (e = 0; e < KF_NR_CGROUP_EVENTS; e++) {
		if (!m->has_event[e])
			continue;
		event.value = kf_cgroup_event_names[e];
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_cgroup_memory_events_total",
				KF_METRIC_COUNTER, "",
				"times that a cgroup hit a memory limit, by event"),
			kf_page_join(page, labels,
				     kf_page_labels(page, &event, 1)),
			m->event[e]);
	}
}

static void cgroup_add(struct kf_page *page, const struct kf_groups *g,
		       const struct kf_cgroup *c)
{
	char name[3 * KF_CGROUP_PATH];
	const struct kf_label label[] = {
		{"container", c->container},
		{"cgroup", kf_utf8_clean(name, sizeof(name), c->place.path)}};
	struct kf_cgroup_memory m;
	const char *labels;

	if (!kf_cgroup_read(g->conf.cgroupfs, &c->place, &m))
		return;
	labels = kf_page_labels(page, label, KF_ARRAY_SIZE(label));
	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_cgroup_memory_bytes",
			KF_METRIC_GAUGE, "bytes",
			"memory charged to a cgroup with processes under konfiscator"),
		labels, m.current);
	if (m.limit)
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_cgroup_memory_limit_bytes",
				KF_METRIC_GAUGE, "bytes",
				"the lowest memory limit in force for a cgroup"),
			labels, m.limit);
	cgroup_add_events(page, labels, &m);
}

static bool cgroup_collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	const struct kf_cgroup *c;

	if (!g)
		return false;
	kf_cgroups_look(g);
	for (c = g->cgroups; c && !kf_scrape_late(scrape); c = c->next)
		cgroup_add(&scrape->page, g, c);
	kf_page_dropped(&scrape->page, "cgroups", g->dropped_cgroups);
	pthread_mutex_unlock(&g->lock);
	return !c;
}

const struct kf_collector kf_collect_cgroup = {
	.name = "cgroup",
	.help = "memory, limit and limit events of the cgroups",
	.collect = cgroup_collect,
	.finish = kf_cgroups_finish,
};
