/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The processes of a profile, and what they have together: levels and counts
 * add up.
 */
#include "config.h"

#include "cli/profile/follow.h"
#include "cli/profile/profile.h"

#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool process_is_chosen(const struct kf_prof *prof,
			      const struct kf_prof_process *p)
{
	const struct kf_profile *of = p->profile;
	uint64_t pid;

	if (!prof->pick.process)
		return true;
	if (kf_parse_u64(prof->pick.process, &pid))
		return pid == (uint64_t)of->head.identity.pid ||
		       pid == (uint64_t)of->pid;
	return !fnmatch(prof->pick.process, p->name, 0) ||
	       !fnmatch(prof->pick.process, of->head.identity.comm, 0);
}

static void process_init(struct kf_prof *prof, struct kf_prof_process *p,
			 const struct kf_profile *profile)
{
	const struct kf_stats_identity *id = &profile->head.identity;

	p->profile = profile;
	p->name = kf_format("%s", id->name[0] ? id->name : id->comm);
	p->label = kf_format("%s (%d)", p->name,
			     profile->pid ? profile->pid : id->pid);
	p->chosen = process_is_chosen(prof, p);
	prof->nr_chosen += p->chosen;
}

/* The last snapshot of a process until a time; NULL: it has none. */
static const struct kf_profile_snapshot *
process_last(const struct kf_profile *p, uint64_t time_ns)
{
	size_t low = 0, high = p->nr_snapshots;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->snapshots[middle]->time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? p->snapshots[low - 1] : NULL;
}

/* Adds what a snapshot has, or takes it away where @sign is -1. */
static void levels_add(struct kf_profile_snapshot *sum,
		       const struct kf_profile_snapshot *s, int sign)
{
	uint64_t by = (uint64_t)(int64_t)sign;

	sum->live += by * s->live;
	sum->rounding += by * s->rounding;
	sum->cached += by * s->cached;
	sum->free += by * s->free;
	sum->metadata += by * s->metadata;
	sum->held += by * s->held;
	sum->resident += by * s->resident;
	sum->live_blocks += by * s->live_blocks;
}

static int levels_by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct kf_profile_snapshot *)a)->time_ns;
	uint64_t y = ((const struct kf_profile_snapshot *)b)->time_ns;

	return (x > y) - (x < y);
}

/* Whether the process has anything at the time of its snapshot @s. */
static bool process_lasts(const struct kf_prof *prof,
			  const struct kf_prof_process *p,
			  const struct kf_profile_snapshot *s)
{
	return s->resident || p == prof->program;
}

/* The level of a time of which there is one. */
static struct kf_profile_snapshot *levels_at(const struct kf_prof *prof,
					     uint64_t time_ns)
{
	const struct kf_profile_snapshot key = {.time_ns = time_ns};

	return bsearch(&key, prof->levels, prof->nr_levels,
		       sizeof(*prof->levels), levels_by_time);
}

/*
 * Adds each snapshot at its time and takes it away at that of the next one: a
 * level is the sum of what was added until then.
 */
static void levels_add_process(struct kf_prof *prof,
			       const struct kf_prof_process *p)
{
	const struct kf_profile_snapshot *last = NULL;

	for (size_t i = 0; i < p->profile->nr_snapshots; i++) {
		const struct kf_profile_snapshot *s = p->profile->snapshots[i];
		struct kf_profile_snapshot *l = levels_at(prof, s->time_ns);

		if (last)
			levels_add(l, last, -1);
		last = process_lasts(prof, p, s) ? s : NULL;
		if (last)
			levels_add(l, last, 1);
	}
}

/* All times at which a chosen process was looked at; equal ones once. */
static void make_levels(struct kf_prof *prof)
{
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < prof->nr_processes; i++)
		nr += prof->processes[i].profile->nr_snapshots;
	prof->levels = kf_alloc(nr, sizeof(*prof->levels));
	for (size_t i = 0; i < prof->nr_processes; i++) {
		const struct kf_profile *of = prof->processes[i].profile;

		for (size_t k = 0; k < of->nr_snapshots; k++)
			prof->levels[kept++].time_ns =
				of->snapshots[k]->time_ns;
	}
	if (nr)
		qsort(prof->levels, nr, sizeof(*prof->levels), levels_by_time);
	for (size_t i = kept = 0; i < nr; i++) {
		if (!kept ||
		    prof->levels[kept - 1].time_ns != prof->levels[i].time_ns)
			prof->levels[kept++] = prof->levels[i];
	}
	prof->nr_levels = kept;
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			levels_add_process(prof, &prof->processes[i]);
	}
	for (size_t i = 1; i < kept; i++)
		levels_add(&prof->levels[i], &prof->levels[i - 1], 1);
}

static void choose_time(struct kf_prof *prof)
{
	double at = prof->pick.at;

	for (size_t i = 0; i < prof->nr_levels; i++) {
		if (at >= 0 && i > 0 &&
		    (double)prof->levels[i].time_ns / 1e9 > at)
			break;
		prof->snapshot = &prof->levels[i];
		prof->time_ns = prof->levels[i].time_ns;
	}
}

static void find_ends(struct kf_prof *prof)
{
	for (size_t i = 0; i < prof->nr_processes; i++) {
		struct kf_prof_process *p = &prof->processes[i];

		p->snapshot = process_last(p->profile, prof->time_ns);
		p->ended = p->snapshot && !p->snapshot->resident;
	}
	prof->at_end = prof->program->ended;
}

/* Of a process of the kernel its last program here. */
struct process_known {
	uint64_t key;
	uint64_t index;
};

static bool is_later(const struct kf_prof_process *a,
		     const struct kf_prof_process *b)
{
	return a->profile->head.identity.created_ns >
	       b->profile->head.identity.created_ns;
}

/* Programs that follow each other by exec are one process of the kernel. */
static void find_execs(struct kf_prof *prof)
{
	struct kf_map known = {.entry_size = sizeof(struct process_known)};
	struct kf_prof_process *all = prof->processes;

	for (size_t i = 0; i < prof->nr_processes; i++) {
		const struct kf_stats_identity *id =
			&all[i].profile->head.identity;
		uint64_t key = id->start_ticks << KF_FAMILY_PID_BITS ^
			       (uint32_t)id->pid ^ id->pid_ns << 40;
		bool is_new;
		struct process_known *k =
			kf_entry(&known, key | 1ULL << 63, &is_new);

		if (!is_new && is_later(&all[k->index], &all[i])) {
			all[i].execed = true;
			continue;
		}
		if (!is_new)
			all[k->index].execed = true;
		if (!i || (!is_new && &all[k->index] == prof->program))
			prof->program = &all[i];
		k->index = i;
	}
	kf_map_release(&known);
}

int kf_prof_processes(struct kf_prof *prof)
{
	const struct kf_profile *first = &prof->profile;

	prof->nr_processes = first->nr_others + 1;
	prof->processes =
		kf_alloc(prof->nr_processes, sizeof(*prof->processes));
	process_init(prof, &prof->processes[0], first);
	for (size_t i = 0; i < first->nr_others; i++)
		process_init(prof, &prof->processes[i + 1], &first->others[i]);
	if (!prof->nr_chosen) {
		kf_error("%s: --process: '%s' is neither the pid nor the name "
			 "of a process in %s",
			 prof->cli->command->name, prof->pick.process,
			 prof->path);
		return KF_EXIT_NO_MATCH;
	}
	find_execs(prof);
	make_levels(prof);
	choose_time(prof);
	find_ends(prof);
	return 0;
}

/* Nothing of a process that has ended is live any more. */
static void counts_end(struct kf_profile_count *c)
{
	c->freed_samples = c->samples;
	c->freed = c->allocated;
	c->freed_blocks = c->allocated_blocks;
	c->freed_variance = c->variance;
}

bool kf_prof_is_gone(const struct kf_prof *prof,
		     const struct kf_prof_process *p,
		     const struct kf_profile_snapshot *last, uint64_t time_ns)
{
	return !last->resident &&
	       (p->execed || !prof->at_end || time_ns != prof->time_ns);
}

bool kf_prof_is_shared(const struct kf_prof *prof,
		       const struct kf_prof_process *p,
		       const struct kf_profile_stack *stack)
{
	return p != prof->processes && stack->flags & KF_STACK_INHERITED;
}

void kf_prof_counts(const struct kf_prof *prof, const struct kf_prof_process *p,
		    uint64_t time_ns, struct kf_profile_count *counts)
{
	const struct kf_profile *of = p->profile;
	const struct kf_profile_snapshot *last = process_last(of, time_ns);
	bool gone = last && kf_prof_is_gone(prof, p, last, time_ns);

	kf_profile_at(of, time_ns, counts);
	for (size_t i = 0; i < of->nr_stacks; i++) {
		if (gone)
			counts_end(&counts[i]);
		if (kf_prof_is_shared(prof, p, of->stacks[i]))
			counts[i] = (struct kf_profile_count){0};
	}
}

/* Nothing is live any more; the lifetimes are those of what was freed. */
static void ages_end(struct kf_ages *a)
{
	a->samples = a->oldest_ns = a->mean_ns = 0;
	for (unsigned int i = 0; i < KF_STATS_SPANS; i++)
		a->span[i].live = (struct kf_estimate){0};
}

struct kf_ages *kf_prof_ages(const struct kf_prof *prof,
			     const struct kf_prof_process *p)
{
	const struct kf_profile *of = p->profile;
	struct kf_ages *ages = kf_alloc(of->nr_stacks, sizeof(*ages));
	bool gone = p->snapshot &&
		    kf_prof_is_gone(prof, p, p->snapshot, prof->time_ns);

	kf_profile_ages_at(of, prof->time_ns, ages);
	for (size_t i = 0; gone && i < of->nr_stacks; i++)
		ages_end(&ages[i]);
	return ages;
}

const struct kf_stats_identity *kf_prof_identity(const struct kf_prof *prof)
{
	const struct kf_prof_process *p = prof->program;

	for (size_t i = 0; prof->nr_chosen == 1 && i < prof->nr_processes;
	     i++) {
		if (prof->processes[i].chosen)
			p = &prof->processes[i];
	}
	return &p->profile->head.identity;
}
