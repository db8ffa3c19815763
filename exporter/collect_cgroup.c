/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "cgroup": what the cgroups of the processes take and may take.
 * There is no sum over processes here: a cgroup has one figure for all in it.
 */
#include "config.h"

#include "exporter/cgroup.h"
#include "exporter/collector.h"

#include <stdlib.h>
#include <string.h>

/* A cgroup that living members are in; @path is from the kernel, raw. */
struct kf_cgroup {
	struct kf_cgroup *next;
	struct kf_cgroup_place place;
	char container[KF_CONTAINER_SHORT];
	bool used;
};

static struct kf_cgroup *get(struct kf_groups *g, const struct kf_member *m)
{
	struct kf_cgroup_place place;
	struct kf_cgroup *c;
	unsigned int nr = 0;

	if (!kf_cgroup_find(g->conf.procfs, m->pid, &place))
		return NULL;
	for (c = g->cgroups; c; c = c->next, nr++) {
		if (c->place.v1 == place.v1 &&
		    strcmp(c->place.path, place.path) == 0)
			return c;
	}
	if (nr >= g->conf.max) {
		g->dropped_cgroups++;
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->place = place;
	memcpy(c->container, m->container, sizeof(c->container));
	c->next = g->cgroups;
	return g->cgroups = c;
}

static bool look(struct kf_groups *g, struct kf_member *m, time_t now)
{
	if (!m->pid || m->ended) {
		m->cgroup = NULL;
		m->cgroup_looked = false;
		return true;
	}
	/* once is enough: processes are moved when they begin, if at all */
	if (!m->cgroup_looked)
		m->cgroup = get(g, m);
	m->cgroup_looked = true;
	if (m->cgroup)
		m->cgroup->used = true;
	return true;
}

static void drop_unused(struct kf_groups *g)
{
	struct kf_cgroup **at = &g->cgroups, *c;

	while ((c = *at)) {
		if (c->used) {
			c->used = false;
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

static void add_events(struct kf_page *page, const char *labels,
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
				"times that a cgroup came to a limit of its memory, by what happened then"),
			kf_page_join(page, labels,
				     kf_page_labels(page, &event, 1)),
			m->event[e]);
	}
}

static void add(struct kf_page *page, const struct kf_groups *g,
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
			"memory that the kernel accounts to a cgroup with processes of ours"),
		labels, m.current);
	if (m.limit)
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_cgroup_memory_limit_bytes",
				KF_METRIC_GAUGE, "bytes",
				"the lowest memory limit that holds for a cgroup, where there is one"),
			labels, m.limit);
	add_events(page, labels, &m);
}

static bool collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	const struct kf_cgroup *c;

	if (!g)
		return false;
	kf_members_each(g, look, 0);
	drop_unused(g);
	for (c = g->cgroups; c && !kf_scrape_late(scrape); c = c->next)
		add(&scrape->page, g, c);
	kf_page_dropped(&scrape->page, "cgroups", g->dropped_cgroups);
	pthread_mutex_unlock(&g->lock);
	return !c;
}

static void finish(struct kf_groups *g)
{
	struct kf_cgroup *c;

	while ((c = g->cgroups)) {
		g->cgroups = c->next;
		free(c);
	}
}

const struct kf_collector kf_collect_cgroup = {
	.name = "cgroup",
	.help = "memory, limit and limit events of the cgroups",
	.collect = collect,
	.finish = finish,
};
