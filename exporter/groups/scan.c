/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One scan of the stats files, in five steps.
 *
 *	1. every file finds its member
 *	2. ledgers add what ended processes counted: see ledgers.h
 *	3. every member finds its group; members without a file are folded with
 *	   their last counts
 *	4. living members are added to the totals
 *	5. the state is saved, then files of ended processes are deleted: see
 *	   ended.h
 *
 * Other users may own the directories: these stay open from the first step to
 * the last, and only the file that was read is deleted.
 */
#include "config.h"

#include "base/saturate.h"
#include "base/text.h"
#include "exporter/groups/created.h"
#include "exporter/groups/ended.h"
#include "exporter/groups/exemplars.h"
#include "exporter/buf.h"
#include "exporter/clock.h"
#include "exporter/groups/ledgers.h"
#include "exporter/groups/state.h"
#include "exporter/groups/tags.h"
#include "stats/ledger-layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DELETED_S 60 /* longer than writing a ledger takes */

/* The part of a member's counter beyond its base. */
static uint64_t scan_beyond_base(const struct kf_member *m, unsigned int i)
{
	return m->seen[i] - (m->base ? m->base[i] : 0);
}

bool kf_member_fold(struct kf_groups *g, struct kf_member *m)
{
	const struct kf_figures *t = &g->figures;
	unsigned int i;

	if (!m->base)
		m->base = calloc(KF_MAX_FIGURES, sizeof(m->base[0]));
	if (!m->base)
		return false;
	for (i = 0; i < t->nr; i++) {
		if (!kf_kind_grows(t->kind[i]))
			continue;
		if (m->group)
			m->group->total[i] = kf_sum(m->group->total[i],
						    scan_beyond_base(m, i));
		m->base[i] = m->seen[i];
	}
	m->changed = true;
	if (m->group)
		m->group->changed = true;
	g->dirty = true;
	return true;
}

static void scan_see(struct kf_groups *g, struct kf_member *m,
		     const uint64_t *value)
{
	unsigned int i;

	m->seen_ns = kf_clock_ns(CLOCK_BOOTTIME);
	/* its counts are in a ledger now */
	if (m->folded)
		return;
	for (i = 0; i < g->figures.nr; i++) {
		/* an inconsistent read may make counters seem to fall */
		if (!kf_kind_grows(g->figures.kind[i]) || value[i] > m->seen[i])
			m->seen[i] = value[i];
	}
}

/* Apply the rules again if the process changed its name. */
static bool place_by_rules(struct kf_groups *g, struct kf_member *m,
			   const char *comm, const char *container)
{
	char raw[KF_NAME_SIZE], name[KF_NAME_SIZE];

	if (m->group && strcmp(m->ruled, comm) == 0)
		return true;
	snprintf(m->ruled, sizeof(m->ruled), "%s", comm);
	if (!kf_naming_of_process(g->conf.naming, g->conf.procfs, m->pid, comm,
				  raw, sizeof(raw)))
		return kf_member_place(g, m, KF_OTHER, "");
	kf_utf8_clean(name, sizeof(name), raw);
	return kf_member_place(g, m, *name ? name : KF_OTHER, container);
}

/* A member whose process is not visible keeps its name. */
static bool place_living(struct kf_groups *g, struct kf_member *m)
{
	char name[KF_NAME_SIZE], container[KF_CONTAINER_ID];
	char comm[KF_PROC_COMM] = "";
	bool found;

	m->ended = false;
	m->to_delete = false;
	found = m->pid && m->called[0];
	if (found)
		memcpy(comm, m->called, sizeof(m->called));
	else
		found = m->pid && kf_proc_comm(g->conf.procfs, m->pid, comm);
	if (!found && m->group)
		return true;
	memcpy(container, m->container, sizeof(m->container));
	if (found && !m->container_known) {
		kf_proc_container(g->conf.procfs, m->pid, container);
		container[KF_CONTAINER_SHORT - 1] = '\0';
		m->container_known = true;
	}
	if (kf_naming_has_rules(g->conf.naming) && found)
		return place_by_rules(g, m, comm, container);
	if (m->given[0] || !found)
		snprintf(comm, sizeof(comm), "%s",
			 m->given[0] ? m->given : m->comm);
	kf_utf8_clean(name, sizeof(name), comm);
	return kf_member_place(g, m, name, container);
}

bool kf_member_has_ended(const struct kf_member *m)
{
	return m->life == KF_LIFE_DEAD || m->life == KF_LIFE_EXECED;
}

/*
 * Call after all files were read, when the last file of each process is known.
 */
static bool scan_settle(struct kf_groups *g, struct kf_member *m, time_t now)
{
	if (!m->read)
		return true;
	if (m->folded) {
		m->to_delete = kf_member_has_ended(m) && m->of_this_boot;
		return true;
	}
	/* folded into a ledger that no longer exists */
	if (m->marked && !m->group && kf_member_has_ended(m))
		return kf_member_end_folded(g, m, now);
	return kf_member_has_ended(m) ? kf_member_end(g, m, now)
				      : place_living(g, m);
}

/* Its key in a ledger: that of its own row, or of its program. */
static void scan_note_key(struct kf_member *m, const struct kf_snapshot *s)
{
	struct kf_ledger_key key;

	kf_ledger_key_of(&key, &s->id, &s->ending);
	m->key[0] = kf_ledger_hash(&key);
	memset(key.cmdline, 0, sizeof(key.cmdline));
	m->key[1] = kf_ledger_hash(&key);
}

static void scan_note(struct kf_groups *g, struct kf_member *m,
		      const struct kf_file *f)
{
	const struct kf_stats_identity *id = &f->snap.id;

	m->dirfd = f->dirfd;
	m->dev = f->snap.dev;
	m->ino = f->snap.ino;
	m->owner = f->snap.owner;
	m->owned = true;
	m->id_pid = id->pid;
	if (!m->key[0])
		scan_note_key(m, &f->snap);
	m->marked = f->snap.ending.folded;
	m->life = f->life;
	m->pid = f->pid;
	memcpy(m->given, id->name, sizeof(m->given));
	memcpy(m->comm, id->comm, sizeof(m->comm));
	memcpy(m->called, f->comm, sizeof(m->called));
	m->resident = f->resident;
	m->shared = f->shared;
	/* files of another boot may be another host's */
	m->of_this_boot = !f->outside && g->boot_id[0] &&
			  strcmp(g->boot_id, id->boot_id) == 0;
}

/* This runs for each file in each scan; snprintf() would dominate the time. */
static void scan_make_path(char *path, size_t size, const struct kf_file *f)
{
	struct kf_text text;

	kf_text_init(&text, path, size);
	kf_text_str(&text, f->dir);
	kf_text_char(&text, '/');
	kf_text_str(&text, f->name);
}

/* Known members keep their last counts. */
static int scan_skip(struct kf_groups *g, const char *path,
		     enum kf_read_result result, int error)
{
	struct kf_member *m;

	g->files[result]++;
	kf_groups_complain(g, path, result, error);
	for (m = *kf_member_bucket(g, path); m; m = m->next) {
		if (strcmp(m->path, path) != 0)
			continue;
		/* a conflict may be known only after all files were read */
		g->files[KF_READ_OK] -= m->read;
		m->read = false;
		m->late = result == KF_READ_LATE;
		m->present = true;
	}
	return 0;
}

/*
 * How long a process has counted, from its start in this boot or from its file.
 */
static uint64_t scan_age_ns(const struct kf_groups *g,
			    const struct kf_stats_identity *id)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK),
		 up = kf_clock_ns(CLOCK_BOOTTIME);
	uint64_t now_ns;

	if (g->boot_id[0] && strcmp(g->boot_id, id->boot_id) == 0)
		return id->start_ticks < up / (1000000000 / hz)
			       ? up - id->start_ticks * (1000000000 / hz)
			       : 0;
	now_ns = kf_clock_ns(CLOCK_REALTIME);
	return now_ns > id->created_ns ? now_ns - id->created_ns : 0;
}

static bool scan_is_possible(struct kf_groups *g, const char *path,
			     const struct kf_stats_identity *id,
			     const uint64_t *value)
{
	const struct kf_member *m = kf_member_find(g, path, id->created_ns);

	if (m && m->seen_ns)
		return kf_figures_plausible(&g->figures, value, m->seen,
					    kf_clock_ns(CLOCK_BOOTTIME) -
						    m->seen_ns);
	return kf_figures_plausible(&g->figures, value, NULL,
				    scan_age_ns(g, id));
}

static bool scan_skip_file(void *ctx, const struct kf_file *f)
{
	char path[8192];

	scan_make_path(path, sizeof(path), f);
	return kf_ended_skip(ctx, f, path);
}

static int scan_file(void *ctx, const struct kf_file *f)
{
	uint64_t value[KF_MAX_FIGURES];
	struct kf_groups *g = ctx;
	struct kf_member *m;
	char path[8192];

	scan_make_path(path, sizeof(path), f);
	if (f->snap.result != KF_READ_OK)
		return scan_skip(g, path, f->snap.result, f->snap.error);
	kf_figures_fill(&g->figures, &f->snap, value);
	if (!scan_is_possible(g, path, &f->snap.id, value))
		return scan_skip(g, path, KF_READ_IMPOSSIBLE, 0);
	m = kf_member_get(g, path, f->snap.id.created_ns);
	if (!m)
		return -1;
	/* an older file of a process is passed a second time */
	g->files[KF_READ_OK] += !m->read;
	m->present = true;
	m->read = true;
	m->gone = 0;
	scan_note(g, m, f);
	scan_see(g, m, value);
	if (m->life == KF_LIFE_DEAD && !m->ended)
		m->cause = kf_ended_look(g, f);
	if (kf_member_has_ended(m) && !m->group && !m->ended)
		kf_ended_name(g, &f->snap, m->name, m->container);
	if (g->conf.exemplars && m->of_this_boot &&
	    !kf_exemplars_note(m, &f->snap))
		return -1;
	return kf_member_tags_note(m, &f->snap) ? 0 : -1;
}

/*
 * A file that was not listed is gone only if it does not exist: a directory may
 * be unreadable for a while. A member that comes back continues above its base.
 */
static bool scan_check_absent(struct kf_groups *g, struct kf_member *m,
			      time_t now)
{
	if (m->present || m->gone || !kf_file_is_gone(m->path))
		return true;
	m->gone = now;
	return m->folded || kf_member_fold(g, m);
}

static bool scan_settle_or_check(struct kf_groups *g, struct kf_member *m,
				 time_t now)
{
	return m->present ? scan_settle(g, m, now)
			  : scan_check_absent(g, m, now);
}

static void scan_add_living(struct kf_groups *g, struct kf_member *m)
{
	uint64_t *now = m->group->now;
	unsigned int i;

	for (i = 0; i < g->figures.nr; i++) {
		switch ((enum kf_figure_kind)g->figures.kind[i]) {
		case KF_FIGURE_COUNTER:
		case KF_FIGURE_BUCKET:
			now[i] = kf_sum(now[i], scan_beyond_base(m, i));
			break;
		case KF_FIGURE_GAUGE_SUM:
		case KF_FIGURE_LIVE:
			now[i] = kf_sum(now[i], m->seen[i]);
			break;
		case KF_FIGURE_GAUGE_MAX:
			now[i] = KF_MAX(now[i], m->seen[i]);
			break;
		}
	}
}

static void count_process(const struct kf_member *m)
{
	struct kf_group *group = m->group;

	group->processes++;
	if (!group->oldest_ns || m->created_ns < group->oldest_ns)
		group->oldest_ns = m->created_ns;
}

static bool scan_sum_member(struct kf_groups *g, struct kf_member *m,
			    time_t now)
{
	if (m->group && !m->ended && !m->gone) {
		m->group->last_alive = now;
		scan_add_living(g, m);
		kf_exemplars_add(m);
		if (m->read || m->late)
			count_process(m);
	}
	g->some_gone = g->some_gone || m->gone;
	g->some_to_delete = g->some_to_delete || m->to_delete;
	if (!m->read && !m->late)
		m->pid = 0;
	if (!m->read)
		m->dirfd = -1;
	m->read = false;
	m->late = false;
	m->present = false;
	return true;
}

static void scan_sum_up(struct kf_groups *g, time_t now)
{
	struct kf_group *group;

	for (group = g->groups; group; group = group->next) {
		memcpy(group->now, group->total, sizeof(group->now));
		memset(group->exemplar, 0, sizeof(group->exemplar));
		group->announced = true;
	}
	kf_members_each(g, scan_sum_member, now);
}

static bool scan_is_long_gone(struct kf_groups *g, struct kf_member *m,
			      time_t now)
{
	time_t after = (time_t)g->conf.forget_s;

	/* it may have been folded before it was deleted */
	if (m->deleted)
		after = kf_ledgers_cover(g, m)
				? KF_MIN(after, (time_t)DELETED_S)
				: 0;
	return m->gone && (m->folded || now - m->gone >= after);
}

static void forget_groups(struct kf_groups *g, time_t now)
{
	struct kf_group **at = &g->groups, *group;
	struct kf_member *m;
	size_t i;

	while ((group = *at)) {
		if (group->processes || group->configured ||
		    now - group->last_alive < (time_t)g->conf.forget_s) {
			at = &group->next;
			continue;
		}
		for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
			for (m = g->members[i]; m; m = m->next)
				m->group = m->group == group ? NULL : m->group;
		}
		if (strcmp(group->name, KF_OTHER) != 0 || *group->container)
			g->nr_groups--;
		*at = group->next;
		free(group);
		g->dirty = g->rewrite = true;
		g->forgot_ns = g->scan_ns;
	}
}

static unsigned int scan_tables(const struct kf_groups_conf *conf)
{
	return (conf->tags ? KF_TABLE_TAGS : 0) |
	       (conf->exemplars ? KF_TABLE_STACKS | KF_TABLE_AGES : 0);
}

static int scan_all(struct kf_groups *g, uint64_t until_ns)
{
	struct kf_find find = {.dirs = g->conf.dirs,
			       .procfs = g->conf.procfs,
			       .tables = scan_tables(&g->conf),
			       .memory = g->conf.resident,
			       .file_cache = g->file_cache,
			       .until_ns = until_ns,
			       .skip = scan_skip_file,
			       .left = &g->left,
			       .places = &g->places,
			       .hidden = g->conf.outside ? &g->hidden : NULL};
	struct kf_group *group;
	time_t now = time(NULL);
	bool done;

	memset(g->files, 0, sizeof(g->files));
	for (group = g->groups; group; group = group->next) {
		group->processes = 0;
		group->oldest_ns = 0;
	}
	done = kf_files_visit(&find, scan_file, g) == 0;
	kf_groups_tell(g);
	done = done && kf_ledgers_scan(g, until_ns, now);
	done = done && kf_members_each(g, scan_settle_or_check, now);
	g->some_gone = g->some_to_delete = false;
	scan_sum_up(g, now);
	/* each walk over all members is expensive */
	if (g->some_gone)
		kf_members_drop(g, scan_is_long_gone, now);
	forget_groups(g, now);
	kf_groups_save(g);
	/* files whose counts are not saved must not be deleted */
	if (g->some_to_delete && !g->dirty && !g->conf.read_only)
		kf_ended_sweep(g, now);
	kf_places_close(&g->places);
	kf_ended_done(g);
	return done ? 0 : -1;
}

static bool scan_time_is_before(const struct timespec *a,
				const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
				      : a->tv_nsec < b->tv_nsec;
}

static uint64_t scan_ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* The rest of the time is for building the page and waiting for the lock. */
static uint64_t scan_read_until(const struct timespec *now,
				const struct timespec *until)
{
	uint64_t begin = scan_ns_of(now), most = KF_SEARCH_S * 1000000000ull;

	if (!until)
		return begin + most;
	return begin + (scan_time_is_before(now, until)
				? KF_MIN((scan_ns_of(until) - begin) / 2, most)
				: 0);
}

int kf_groups_scan(struct kf_groups *g, const struct timespec *since,
		   const struct timespec *until)
{
	/* a scan finished while waiting for the lock is reused */
	if (g->scanned && !scan_time_is_before(&g->scan_began, since))
		return g->scan_result;
	kf_created_begin(g);
	clock_gettime(CLOCK_MONOTONIC, &g->scan_began);
	g->scan_result = scan_all(g, scan_read_until(&g->scan_began, until));
	g->scanned = true;
	return g->scan_result;
}
