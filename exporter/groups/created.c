/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Created times, of the scan that makes a group: see created.h.
 */
#include "config.h"

#include "exporter/groups/created.h"
#include "exporter/buf.h"
#include "exporter/clock.h"

/* How long before its scan a page was asked for, at most. */
#define ASKED_NS 1000000000ull

/*
 * A scraper gives samples the time at which it asked, and another one may have
 * caused a scan since: @before_ns is some time before the last scan, but after
 * the last page with a group that was forgotten.
 */
void kf_created_begin(struct kf_groups *g)
{
	uint64_t now_ns = kf_clock_ns(CLOCK_REALTIME);
	uint64_t asked_ns = now_ns - KF_MIN(now_ns, ASKED_NS);

	/* nothing is known of groups that an earlier exporter forgot */
	if (!g->scan_ns)
		g->scan_ns = g->forgot_ns = now_ns;
	g->before_ns = KF_MAX(g->forgot_ns, KF_MIN(g->scan_ns, asked_ns));
	/* what the first scan finds may have been there before the start */
	g->figures.since_ns = g->scanned ? g->before_ns : 0;
	g->scan_ns = now_ns;
}

void kf_group_began(struct kf_group *group, uint64_t ns)
{
	if (!group->announced && ns && ns < group->created_ns)
		group->created_ns = ns;
}

/* A counter that only files of another version have may come later. */
uint64_t kf_group_created(const struct kf_group *group,
			  const struct kf_figure *f)
{
	return KF_MAX(group->created_ns, f->since_ns);
}

void kf_created_configure(struct kf_groups *g)
{
	char name[KF_NAME_SIZE];
	struct kf_group *group;
	const char *raw;
	unsigned int i;

	for (group = g->groups; group; group = group->next)
		group->configured = false;
	for (i = 0; (raw = kf_naming_fixed(g->conf.naming, i)); i++) {
		if (g->nr_groups >= g->conf.max)
			return;
		kf_utf8_clean(name, sizeof(name), raw);
		group = *name ? kf_group_get(g, name, "") : NULL;
		if (!group)
			continue;
		group->configured = true;
		g->dirty = g->dirty || group->changed;
	}
}
