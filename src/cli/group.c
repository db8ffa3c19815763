/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Adds files up into groups. The rate of a group is the sum of its processes'
 * rates, each since the process' start or since the snapshot before.
 */
#include "config.h"

#include "base/saturate.h"
#include "cli/group.h"
#include "cli/state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int kf_snapshots_take(struct kf_snapshots *snaps, const struct kf_cli *cli)
{
	struct timespec now;
	int status = kf_cli_find(cli, &snaps->files);

	clock_gettime(CLOCK_REALTIME, &now);
	snaps->time_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return status;
}

double kf_snapshots_seconds(const struct kf_snapshots *now,
			    const struct kf_file *f,
			    const struct kf_file *before,
			    const struct kf_snapshots *then)
{
	uint64_t since = before ? then->time_ns : f->snap.id.created_ns;
	int64_t span = (int64_t)(now->time_ns - since);

	/* a process younger than a millisecond has no useful rate */
	return span < 1000000 ? 0.001 : (double)span / 1e9;
}

const struct kf_file *kf_snapshots_same(const struct kf_snapshots *snaps,
					const struct kf_file *f)
{
	if (!snaps)
		return NULL;
	for (unsigned int i = 0; i < snaps->files.nr; i++) {
		const struct kf_file *o = &snaps->files.file[i];

		if (o->snap.result == KF_READ_OK && !strcmp(o->name, f->name) &&
		    !strcmp(o->dir, f->dir))
			return o;
	}
	return NULL;
}

bool kf_snapshots_wants(const struct kf_cli *cli, const struct kf_file *f)
{
	return f->snap.result == KF_READ_OK &&
	       (cli->select.all || f->life == KF_LIFE_ALIVE) &&
	       kf_select_matches(&cli->select, f);
}

static int counter_index(const struct kf_groups *g, const char *name)
{
	for (unsigned int i = 0; i < g->nr_counters; i++) {
		if (!strcmp(g->counters[i]->name, name))
			return (int)i;
	}
	return -1;
}

static void collect_counters(struct kf_groups *g, const struct kf_cli *cli,
			     const struct kf_snapshots *snaps)
{
	unsigned int room = 0;

	for (unsigned int i = 0; i < snaps->files.nr; i++)
		room += snaps->files.file[i].snap.nr_counters;
	g->counters = kf_alloc(room, sizeof(struct kf_counter *));
	for (unsigned int i = 0; i < snaps->files.nr; i++) {
		const struct kf_file *f = &snaps->files.file[i];

		for (unsigned int k = 0; k < f->snap.nr_counters; k++) {
			const struct kf_counter *c = &f->snap.counters[k];

			if (kf_snapshots_wants(cli, f) &&
			    counter_index(g, c->name) < 0)
				g->counters[g->nr_counters++] = c;
		}
	}
}

static struct kf_group *groups_get(struct kf_groups *g, const struct kf_file *f,
				   enum kf_groups_by by)
{
	struct kf_group key = {.state = kf_state_name(f)};
	struct kf_group *group;

	kf_process_container(f, key.container);
	if (by != KF_GROUPS_BY_CONTAINER)
		kf_process_name(f, key.name);
	if (by == KF_GROUPS_BY_PID)
		key.pid = kf_process_id(f);
	for (unsigned int i = 0; i < g->nr && by != KF_GROUPS_BY_PID; i++) {
		group = &g->group[i];
		if (!strcmp(group->name, key.name) &&
		    !strcmp(group->container, key.container) &&
		    !strcmp(group->state, key.state))
			return group;
	}
	group = &g->group[g->nr++];
	*group = key;
	group->totals.knows_bins = true;
	group->values = kf_alloc(g->nr_counters, sizeof(*group->values));
	return group;
}

static void group_add_totals(struct kf_totals *to, const struct kf_totals *t)
{
	to->mallocs = kf_sum(to->mallocs, t->mallocs);
	to->frees = kf_sum(to->frees, t->frees);
	to->inherited_blocks =
		kf_sum(to->inherited_blocks, t->inherited_blocks);
	to->live_blocks = kf_sum(to->live_blocks, t->live_blocks);
	to->allocated = kf_sum(to->allocated, t->allocated);
	to->freed = kf_sum(to->freed, t->freed);
	to->live = kf_sum(to->live, t->live);
	to->rounding = kf_sum(to->rounding, t->rounding);
	to->cached = kf_sum(to->cached, t->cached);
	to->bins = kf_sum(to->bins, t->bins);
	to->knows_bins = to->knows_bins && t->knows_bins;
	to->free = kf_sum(to->free, t->free);
	to->metadata = kf_sum(to->metadata, t->metadata);
	to->held = kf_sum(to->held, t->held);
}

/* Gauges whose sum means nothing: a group has the largest value. */
static bool is_largest(const struct kf_counter *c)
{
	static const char *const names[] = {"largest_free", "mmap_threshold",
					    "trim_threshold"};

	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		if (!strcmp(c->name, names[i]))
			return true;
	}
	return false;
}

static void add_counters(const struct kf_groups *g, struct kf_group *group,
			 const struct kf_snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_counters; i++) {
		const struct kf_counter *c = &s->counters[i];
		int at = counter_index(g, c->name);

		if (at < 0)
			continue;
		if (is_largest(c))
			group->values[at] = KF_MAX(group->values[at], c->value);
		else
			group->values[at] = kf_sum(group->values[at], c->value);
	}
}

static double group_rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

static void group_add_file(struct kf_groups *g, struct kf_group *group,
			   const struct kf_file *f,
			   const struct kf_snapshots *now,
			   const struct kf_snapshots *then)
{
	const struct kf_file *before = kf_snapshots_same(then, f);
	double seconds = kf_snapshots_seconds(now, f, before, then);
	const struct kf_snapshot *s = &f->snap;

	group->nr_processes++;
	group->resident += kf_process_resident(f);
	group_add_totals(&group->totals, &s->totals);
	add_counters(g, group, s);
	group->malloc_rate +=
		group_rate(s->totals.mallocs,
			   before ? before->snap.totals.mallocs : 0, seconds);
	group->mmap_rate += group_rate(
		kf_snapshot_value(s, "mmaps"),
		before ? kf_snapshot_value(&before->snap, "mmaps") : 0,
		seconds);
}

void kf_groups_make(struct kf_groups *g, const struct kf_cli *cli,
		    const struct kf_snapshots *now,
		    const struct kf_snapshots *then, enum kf_groups_by by)
{
	memset(g, 0, sizeof(*g));
	g->ended = cli->select.all;
	collect_counters(g, cli, now);
	g->group = kf_alloc(now->files.nr, sizeof(*g->group));
	for (unsigned int i = 0; i < now->files.nr; i++) {
		const struct kf_file *f = &now->files.file[i];

		if (kf_snapshots_wants(cli, f))
			group_add_file(g, groups_get(g, f, by), f, now, then);
	}
}

void kf_groups_release(struct kf_groups *g)
{
	for (unsigned int i = 0; i < g->nr; i++)
		free(g->group[i].values);
	free(g->group);
	free(g->counters);
	memset(g, 0, sizeof(*g));
}

uint64_t kf_groups_value(const struct kf_groups *g,
			 const struct kf_group *group, const char *name)
{
	int i = counter_index(g, name);

	return i < 0 ? 0 : group->values[i];
}
