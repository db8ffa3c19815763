/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups and their members: one scan after the other, in four steps.
 *
 *	1. every file finds its member, every member its group
 *	2. members whose file went are folded with what was last seen of them
 *	3. the living are added to the totals
 *	4. the state is saved, then the files of the ended are deleted
 */
#include "config.h"

#include "exporter/groups.h"
#include "exporter/buf.h"
#include "exporter/log.h"
#include "exporter/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BAD_FILES 1000
#define OTHER "other"

struct kf_group *kf_group_get(struct kf_groups *g, const char *name,
			      const char *container)
{
	struct kf_group *group, **end = &g->groups;

	for (; (group = *end); end = &group->next) {
		if (strcmp(group->name, name) == 0 &&
		    strcmp(group->container, container) == 0)
			return group;
	}
	if (g->nr_groups >= g->conf.max &&
	    (strcmp(name, OTHER) != 0 || *container)) {
		g->dropped++;
		return kf_group_get(g, OTHER, "");
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	snprintf(group->name, sizeof(group->name), "%s", name);
	snprintf(group->container, sizeof(group->container), "%s", container);
	group->last_alive = time(NULL);
	*end = group;
	if (strcmp(name, OTHER) != 0 || *container)
		g->nr_groups++;
	return group;
}

static struct kf_member **bucket_of(struct kf_groups *g, const char *path)
{
	uint64_t h = 5381;

	for (; *path; path++)
		h = h * 33 ^ (unsigned char)*path;
	return &g->members[h % KF_MEMBER_BUCKETS];
}

struct kf_member *kf_member_get(struct kf_groups *g, const char *path,
				uint64_t created_ns)
{
	struct kf_member **at = bucket_of(g, path), *m;

	for (m = *at; m; m = m->next) {
		if (m->created_ns == created_ns && strcmp(m->path, path) == 0)
			return m;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->path = strdup(path);
	if (!m->path) {
		free(m);
		return NULL;
	}
	m->created_ns = created_ns;
	m->next = *at;
	*at = m;
	g->dirty = true;
	return m;
}

static void member_free(struct kf_member *m)
{
	free(m->path);
	free(m->base);
	free(m);
}

/* What a member's counter adds to its group. */
static uint64_t beyond_base(const struct kf_member *m, unsigned int i)
{
	return m->seen[i] - (m->base ? m->base[i] : 0);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > (uint64_t)INT64_MAX - b ? (uint64_t)INT64_MAX : a + b;
}

/* Move what a member has counted into the totals. False: out of memory. */
static bool fold(struct kf_groups *g, struct kf_member *m)
{
	const struct kf_figures *t = &g->figures;
	unsigned int i;

	if (!m->base)
		m->base = calloc(KF_MAX_FIGURES, sizeof(m->base[0]));
	if (!m->base)
		return false;
	for (i = 0; i < t->nr; i++) {
		if (!kf_figure_grows(&t->figure[i]))
			continue;
		if (m->group)
			m->group->total[i] =
				add_up(m->group->total[i], beyond_base(m, i));
		m->base[i] = m->seen[i];
	}
	g->dirty = true;
	return true;
}

static void see(struct kf_groups *g, struct kf_member *m,
		const struct kf_snapshot *s)
{
	uint64_t value[KF_MAX_FIGURES];
	unsigned int i;

	kf_figures_fill(&g->figures, s, value);
	for (i = 0; i < g->figures.nr; i++) {
		/* counters read in the middle of a change may seem to fall */
		if (!kf_figure_grows(&g->figures.figure[i]) ||
		    value[i] > m->seen[i])
			m->seen[i] = value[i];
	}
}

/* Put a member into the group of its name; what it counted so far stays. */
static bool place(struct kf_groups *g, struct kf_member *m, const char *name,
		  const char *container)
{
	if (m->group && strcmp(m->name, name) == 0 &&
	    strcmp(m->container, container) == 0)
		return true;
	if (m->group && !fold(g, m))
		return false;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->container, sizeof(m->container), "%s", container);
	m->group = kf_group_get(g, name, container);
	g->dirty = true;
	return m->group != NULL;
}

/* One whose process is not to be seen keeps the name that it has. */
static bool place_living(struct kf_groups *g, struct kf_member *m,
			 const struct kf_file *f)
{
	const struct kf_stats_identity *id = &f->snap.id;
	char name[KF_NAME_SIZE], container[KF_CONTAINER_ID];
	char comm[KF_PROC_COMM] = "";
	bool found;

	m->ended = false;
	m->doomed = false;
	found = f->pid && kf_proc_comm(g->conf.procfs, f->pid, comm);
	if (!found && m->group)
		return true;
	memcpy(container, m->container, sizeof(m->container));
	if (found && !m->looked) {
		kf_proc_container(g->conf.procfs, f->pid, container);
		container[KF_CONTAINER_SHORT - 1] = '\0';
		m->looked = true;
	}
	if (id->name[0])
		snprintf(comm, sizeof(comm), "%s", id->name);
	else if (!found)
		snprintf(comm, sizeof(comm), "%s", id->comm);
	kf_utf8_clean(name, sizeof(name), comm);
	return place(g, m, name, container);
}

/* A file's process is over: count that once, and see the file off. */
static bool end_member(struct kf_groups *g, struct kf_member *m,
		       const struct kf_file *f)
{
	const struct kf_stats_identity *id = &f->snap.id;
	char name[KF_NAME_SIZE];

	if (!m->group && !m->ended) {
		kf_utf8_clean(name, sizeof(name),
			      id->name[0] ? id->name : id->comm);
		if (!place(g, m, name, m->container))
			return false;
	}
	if (!m->ended) {
		m->seen[f->life == KF_LIFE_DEAD ? KF_FIG_EXITS
						: KF_FIG_EXECS]++;
		if (!fold(g, m))
			return false;
		m->ended = true;
	}
	/* another boot's files may be another host's */
	m->doomed = g->boot_id[0] && strcmp(g->boot_id, id->boot_id) == 0;
	return true;
}

static void complain(struct kf_groups *g, const char *path,
		     const struct kf_snapshot *s)
{
	struct kf_bad_file *b;

	for (b = g->bad; b; b = b->next) {
		if (b->result == s->result && strcmp(b->path, path) == 0) {
			b->present = true;
			return;
		}
	}
	if (s->result == KF_READ_NOT_READY || g->nr_bad >= MAX_BAD_FILES)
		return;
	b = calloc(1, sizeof(*b));
	if (!b)
		return;
	b->path = strdup(path);
	if (!b->path) {
		free(b);
		return;
	}
	b->result = s->result;
	b->present = true;
	b->next = g->bad;
	g->bad = b;
	g->nr_bad++;
	kf_log(KF_LOG_WARN, "stats file skipped", "path", path, "result",
	       kf_read_result_name(s->result), "error",
	       s->result == KF_READ_ERROR ? strerror(s->error) : "", NULL);
}

static void forget_bad_files(struct kf_groups *g)
{
	struct kf_bad_file **at = &g->bad, *b;

	while ((b = *at)) {
		if (b->present) {
			b->present = false;
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b->path);
		free(b);
		g->nr_bad--;
	}
}

static bool scan_file(struct kf_groups *g, const struct kf_file *f)
{
	struct kf_member *m;
	char path[8192];
	bool done;

	snprintf(path, sizeof(path), "%s/%s", f->dir, f->name);
	g->files[f->snap.result]++;
	if (f->snap.result != KF_READ_OK) {
		complain(g, path, &f->snap);
		/* who is known stays as he was last seen */
		for (m = *bucket_of(g, path); m; m = m->next) {
			if (strcmp(m->path, path) == 0)
				m->present = true;
		}
		return true;
	}
	m = kf_member_get(g, path, f->snap.id.created_ns);
	if (!m)
		return false;
	m->present = true;
	m->gone = 0;
	see(g, m, &f->snap);
	if (f->life == KF_LIFE_DEAD || f->life == KF_LIFE_EXECED)
		done = end_member(g, m, f);
	else
		done = place_living(g, m, f);
	if (done && !m->ended && m->group) {
		m->group->processes++;
		if (!m->group->oldest_ns || m->created_ns < m->group->oldest_ns)
			m->group->oldest_ns = m->created_ns;
	}
	return done;
}

/*
 * A file that is not listed is gone only if it is not there: a directory may
 * be unreadable for a while. Whoever comes back goes on above his base.
 */
static bool check_absent(struct kf_groups *g, struct kf_member *m, time_t now)
{
	struct stat st;

	if (m->present || m->gone)
		return true;
	if (lstat(m->path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return true;
	m->gone = now;
	return fold(g, m);
}

static void add_living(struct kf_groups *g, struct kf_member *m)
{
	uint64_t *now = m->group->now;
	unsigned int i;

	for (i = 0; i < g->figures.nr; i++) {
		switch (g->figures.figure[i].kind) {
		case KF_FIGURE_COUNTER:
		case KF_FIGURE_BUCKET:
			now[i] = add_up(now[i], beyond_base(m, i));
			break;
		case KF_FIGURE_GAUGE_SUM:
			now[i] = add_up(now[i], m->seen[i]);
			break;
		case KF_FIGURE_GAUGE_MAX:
			now[i] = KF_MAX(now[i], m->seen[i]);
			break;
		}
	}
}

typedef bool member_fn(struct kf_groups *g, struct kf_member *m, time_t now);

static bool for_each_member(struct kf_groups *g, member_fn *fn, time_t now)
{
	struct kf_member *m;
	bool done = true;
	size_t i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			done = fn(g, m, now) && done;
	}
	return done;
}

static bool sum_member(struct kf_groups *g, struct kf_member *m, time_t now)
{
	if (m->group && !m->ended && !m->gone) {
		m->group->last_alive = now;
		add_living(g, m);
	}
	m->present = false;
	return true;
}

static void sum_up(struct kf_groups *g, time_t now)
{
	struct kf_group *group;

	for (group = g->groups; group; group = group->next)
		memcpy(group->now, group->total, sizeof(group->now));
	for_each_member(g, sum_member, now);
}

static void drop_members(struct kf_groups *g, member_fn *goes, time_t now)
{
	struct kf_member **at, *m;
	size_t i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		at = &g->members[i];
		while ((m = *at)) {
			if (goes(g, m, now)) {
				*at = m->next;
				member_free(m);
			} else {
				at = &m->next;
			}
		}
	}
}

static bool long_gone(struct kf_groups *g, struct kf_member *m, time_t now)
{
	return m->gone && now - m->gone >= (time_t)g->conf.forget_s;
}

static void forget_groups(struct kf_groups *g, time_t now)
{
	struct kf_group **at = &g->groups, *group;
	struct kf_member *m;
	size_t i;

	while ((group = *at)) {
		if (group->processes ||
		    now - group->last_alive < (time_t)g->conf.forget_s) {
			at = &group->next;
			continue;
		}
		for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
			for (m = g->members[i]; m; m = m->next)
				m->group = m->group == group ? NULL : m->group;
		}
		if (strcmp(group->name, OTHER) != 0 || *group->container)
			g->nr_groups--;
		*at = group->next;
		free(group);
		g->dirty = true;
	}
}

/* Return: whether the member goes with its file. */
static bool delete_file(struct kf_groups *g, struct kf_member *m, time_t now)
{
	if (!m->doomed)
		return false;
	if (unlink(m->path) == 0 || errno == ENOENT)
		return true;
	if (!m->stuck)
		kf_log(KF_LOG_WARN, "stats file of an ended process stays",
		       "path", m->path, "error", strerror(errno), NULL);
	m->stuck = true;
	return false;
}

static void save(struct kf_groups *g)
{
	if (!g->dirty || g->conf.read_only)
		return;
	if (g->conf.state_file && kf_state_save(g) != 0) {
		if (!g->save_errors++)
			kf_log(KF_LOG_ERROR, "state file cannot be written",
			       "path", g->conf.state_file, "error",
			       strerror(errno), NULL);
		return;
	}
	g->dirty = false;
}

int kf_groups_scan(struct kf_groups *g)
{
	struct kf_find find = {g->conf.dirs, g->conf.procfs};
	struct kf_group *group;
	struct kf_files files;
	time_t now = time(NULL);
	bool done = true;
	unsigned int i;

	if (kf_files_find(&find, &files) != 0)
		return -1;
	memset(g->files, 0, sizeof(g->files));
	for (group = g->groups; group; group = group->next) {
		group->processes = 0;
		group->oldest_ns = 0;
	}
	for (i = 0; i < files.nr; i++)
		done = scan_file(g, &files.file[i]) && done;
	kf_files_release(&files);
	forget_bad_files(g);
	done = for_each_member(g, check_absent, now) && done;
	sum_up(g, now);
	drop_members(g, long_gone, now);
	forget_groups(g, now);
	save(g);
	/* what the state file does not know yet must not go */
	if (!g->dirty && !g->conf.read_only)
		drop_members(g, delete_file, now);
	return done ? 0 : -1;
}

static void read_boot_id(struct kf_groups *g)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/kernel/random/boot_id",
		 g->conf.procfs);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(g->boot_id, sizeof(g->boot_id), f))
		g->boot_id[0] = '\0';
	g->boot_id[strcspn(g->boot_id, "\n")] = '\0';
	fclose(f);
}

int kf_groups_init(struct kf_groups *g, const struct kf_groups_conf *conf)
{
	memset(g, 0, sizeof(*g));
	g->conf = *conf;
	g->lock_fd = -1;
	pthread_mutex_init(&g->lock, NULL);
	kf_figures_init(&g->figures);
	read_boot_id(g);
	if (!conf->state_file)
		return 0;
	if (!conf->read_only && kf_state_lock(g) != 0)
		return -1;
	return kf_state_load(g);
}

static bool fold_living(struct kf_groups *g, struct kf_member *m, time_t now)
{
	return m->ended || m->gone || fold(g, m);
}

static bool any(struct kf_groups *g, struct kf_member *m, time_t now)
{
	return true;
}

void kf_groups_clear(struct kf_groups *g)
{
	struct kf_group *group;

	drop_members(g, any, 0);
	while ((group = g->groups)) {
		g->groups = group->next;
		free(group);
	}
	g->nr_groups = 0;
	g->dropped = 0;
}

void kf_groups_finish(struct kf_groups *g)
{
	struct kf_bad_file *b;

	/* so that files which go while nobody looks are not lost */
	if (g->conf.state_file && !g->conf.read_only) {
		for_each_member(g, fold_living, 0);
		save(g);
	}
	kf_groups_clear(g);
	while ((b = g->bad)) {
		g->bad = b->next;
		free(b->path);
		free(b);
	}
	if (g->lock_fd >= 0)
		close(g->lock_fd);
	pthread_mutex_destroy(&g->lock);
}
