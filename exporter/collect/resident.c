/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collector "resident": resident memory of the processes, from /proc/PID/statm.
 * With --resident.smaps also proportional shares and swapped memory, for which
 * the kernel walks all mappings.
 */
#include "config.h"

#include "exporter/collect/collector.h"

#include <stdio.h>
#include <string.h>

static void resident_read_statm(const struct kf_member *m, uint64_t *sum)
{
	sum[KF_RESIDENT_ANON] +=
		m->resident > m->shared ? m->resident - m->shared : 0;
	sum[KF_RESIDENT_FILE] += m->shared;
}

/* Return the number of a line "NAME:   N kB", in bytes. */
static uint64_t smaps_kib_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	unsigned long long kib;

	if (!line || sscanf(line + strlen(name), " %llu kB", &kib) != 1)
		return 0;
	return kib * 1024;
}

static void resident_read_smaps(const struct kf_groups *g,
				const struct kf_member *m, uint64_t *sum)
{
	char text[4096];

	/* no permission: leave the values out */
	if (kf_proc_text(g->conf.procfs, m->pid, "smaps_rollup", text,
			 sizeof(text)) <= 0)
		return;
	sum[KF_RESIDENT_SHARE] += smaps_kib_of(text, "\nPss:");
	sum[KF_RESIDENT_SWAP] += smaps_kib_of(text, "\nSwap:");
}

static void resident_read(const struct kf_groups *g, const struct kf_member *m)
{
	if (!m->pid || m->ended || !m->group)
		return;
	resident_read_statm(m, m->group->resident);
	if (g->conf.smaps)
		resident_read_smaps(g, m, m->group->resident);
}

static bool resident_clear(struct kf_scrape *scrape, struct kf_groups *g)
{
	struct kf_group *group;

	for (group = g->groups; group; group = group->next)
		memset(group->resident, 0, sizeof(group->resident));
	return !kf_scrape_late(scrape);
}

static bool resident_add_up(struct kf_scrape *scrape, struct kf_groups *g)
{
	const struct kf_member *m;
	size_t i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		if (kf_scrape_late(scrape))
			return false;
		for (m = g->members[i]; m; m = m->next)
			resident_read(g, m);
	}
	return true;
}

static void resident_add_group(struct kf_page *page, const struct kf_groups *g,
			       const struct kf_group *group)
{
	static const char *const kinds[] = {
		[KF_RESIDENT_ANON] = "anon", [KF_RESIDENT_FILE] = "file"};
	const char *labels = kf_group_labels(page, group);
	struct kf_label kind = {"kind", NULL};
	unsigned int i;

	for (i = 0; i < KF_ARRAY_SIZE(kinds); i++) {
		kind.value = kinds[i];
		kf_family_int(
			page,
			kf_page_family(
				page, "konfiscator_resident_bytes",
				KF_METRIC_GAUGE, "bytes",
				"resident memory of the processes: anon includes the heap, file is file-backed and shared memory, counted for each process"),
			kf_page_join(page, labels,
				     kf_page_labels(page, &kind, 1)),
			group->resident[i]);
	}
	if (!g->conf.smaps)
		return;
	kf_family_int(
		page,
		kf_page_family(
			page, "konfiscator_proportional_bytes", KF_METRIC_GAUGE,
			"bytes",
			"resident memory of the processes, shared pages proportionally"),
		labels, group->resident[KF_RESIDENT_SHARE]);
	kf_family_int(page,
		      kf_page_family(page, "konfiscator_swapped_bytes",
				     KF_METRIC_GAUGE, "bytes",
				     "memory of the processes in swap"),
		      labels, group->resident[KF_RESIDENT_SWAP]);
}

static bool resident_collect(struct kf_scrape *scrape)
{
	struct kf_groups *g = kf_scrape_groups(scrape);
	const struct kf_group *group;
	bool done;

	if (!g)
		return false;
	done = resident_clear(scrape, g) && resident_add_up(scrape, g);
	for (group = done ? g->groups : NULL; group; group = group->next) {
		if (group->processes)
			resident_add_group(&scrape->page, g, group);
	}
	pthread_mutex_unlock(&g->lock);
	return done;
}

const struct kf_collector kf_collect_resident = {
	.name = "resident",
	.help = "resident memory of the processes",
	.collect = resident_collect,
};
