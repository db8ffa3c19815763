/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cgroups of living processes: see cgroups.h.
 */
#include "config.h"

#include "exporter/groups/cgroups.h"
#include "exporter/site/timeline.h"

#include <stdlib.h>
#include <string.h>

static struct kf_cgroup *cgroups_get(struct kf_groups *g,
				     const struct kf_member *m)
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

static bool cgroups_look(struct kf_groups *g, struct kf_member *m, time_t now)
{
	uint64_t part[KF_NR_PARTS];

	if (!m->pid || m->ended) {
		m->cgroup = NULL;
		m->cgroup_looked = false;
		return true;
	}
	/* look once: processes rarely change their cgroup after they begin */
	if (!m->cgroup_looked)
		m->cgroup = cgroups_get(g, m);
	m->cgroup_looked = true;
	if (m->cgroup) {
		kf_parts_of(m->seen, part);
		m->cgroup->processes++;
		m->cgroup->held += kf_parts_sum(part);
	}
	return true;
}

static void cgroups_drop_unused(struct kf_groups *g)
{
	struct kf_cgroup **at = &g->cgroups, *c;

	while ((c = *at)) {
		if (c->processes) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

void kf_cgroups_look(struct kf_groups *g)
{
	struct kf_cgroup *c;

	for (c = g->cgroups; c; c = c->next) {
		c->processes = 0;
		c->held = 0;
	}
	kf_members_each(g, cgroups_look, 0);
	cgroups_drop_unused(g);
}

void kf_cgroups_finish(struct kf_groups *g)
{
	struct kf_cgroup *c;

	while ((c = g->cgroups)) {
		g->cgroups = c->next;
		free(c);
	}
}
