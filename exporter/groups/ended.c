/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members whose processes have ended: see ended.h.
 *
 * The limits on files are those of src/stats/sweep.c, which a user's own
 * processes apply; here they hold for users who start no more processes.
 */
#include "config.h"

#include "base/saturate.h"
#include "exporter/groups/ended.h"
#include "exporter/buf.h"
#include "exporter/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define KEPT_MAX 256
#define KEPT_SHARE 100
#define FREE_SHARE 10
#define SETTLED_S 2 /* resolution of file times */

void kf_ended_name(struct kf_groups *g, const struct kf_snapshot *s,
		   char name[KF_NAME_SIZE], char container[KF_CONTAINER_SHORT])
{
	const struct kf_stats_identity *id = &s->id;
	char raw[KF_NAME_SIZE], found[KF_CONTAINER_ID];

	snprintf(raw, sizeof(raw), "%s", id->name[0] ? id->name : id->comm);
	kf_container_in(s->ending.cgroup, found);
	snprintf(container, KF_CONTAINER_SHORT, "%.*s", KF_CONTAINER_SHORT - 1,
		 found);
	if (kf_naming_has_rules(g->conf.naming) &&
	    !kf_naming_of_ended(g->conf.naming, s, raw, sizeof(raw)))
		raw[0] = '\0';
	kf_utf8_clean(name, KF_NAME_SIZE, raw);
	if (*name)
		return;
	snprintf(name, KF_NAME_SIZE, "%s", KF_OTHER);
	container[0] = '\0';
}

enum kf_ended_cause kf_ended_look(struct kf_groups *g, const struct kf_file *f)
{
	char room[16];

	if (!g->ended_log) {
		g->ended_log = calloc(1, sizeof(*g->ended_log));
		if (!g->ended_log)
			return KF_ENDED_UNKNOWN;
		kf_ended_open(g->ended_log);
	}
	return kf_ended_cause(
		kf_ended_how(g->ended_log, f, room, sizeof(room)));
}

void kf_ended_done(struct kf_groups *g)
{
	if (g->ended_log)
		kf_ended_close(g->ended_log);
	free(g->ended_log);
	g->ended_log = NULL;
}

/*
 * Counts an end by its cause, in the group of the process: apart from the
 * member's own counts, which may be in a ledger, where causes are not known.
 */
static bool ended_count(struct kf_groups *g, const struct kf_member *m)
{
	unsigned int i = KF_FIG_ENDED + m->cause;
	struct kf_group *group = m->group;

	if (!m->read || m->life != KF_LIFE_DEAD)
		return true;
	if (!group)
		group = kf_group_get(g, m->name, m->container);
	if (!group)
		return false;
	group->total[i] = kf_sum(group->total[i], 1);
	group->last_alive = time(NULL);
	group->changed = true;
	return true;
}

static bool ended_note(struct kf_groups *g, struct kf_member *m, time_t now)
{
	if (!ended_count(g, m))
		return false;
	m->ended = true;
	m->ended_at = now;
	m->changed = true;
	g->dirty = true;
	return true;
}

bool kf_member_end(struct kf_groups *g, struct kf_member *m, time_t now)
{
	char name[KF_NAME_SIZE], container[KF_CONTAINER_SHORT];

	if (!m->group && !m->ended) {
		memcpy(name, m->name, sizeof(name));
		memcpy(container, m->container, sizeof(container));
		if (!kf_member_place(g, m, name, container))
			return false;
	}
	if (!m->ended) {
		m->seen[m->life == KF_LIFE_DEAD ? KF_FIG_EXITS
						: KF_FIG_EXECS]++;
		if (!kf_member_fold(g, m) || !ended_note(g, m, now))
			return false;
	}
	m->to_delete = m->of_this_boot;
	return true;
}

bool kf_member_end_folded(struct kf_groups *g, struct kf_member *m, time_t now)
{
	bool over = m->read && kf_member_has_ended(m);

	/* the counts of an existing file belong to the group of its process */
	if (m->group && over && !kf_member_end(g, m, now))
		return false;
	if (m->group && !m->ended && !kf_member_fold(g, m))
		return false;
	if (!m->ended && !ended_note(g, m, now))
		return false;
	m->folded = true;
	m->changed = true;
	m->to_delete = over && m->of_this_boot;
	g->dirty = true;
	return true;
}

static bool ended_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Two changes within a tick of the file system's clock look the same. */
static bool ended_is_settled(const struct stat *st)
{
	return time(NULL) - st->st_ctim.tv_sec > SETTLED_S;
}

bool kf_ended_skip(struct kf_groups *g, const struct kf_file *f,
		   const char *path)
{
	struct kf_member *m = *kf_member_bucket(g, path);
	struct stat st;

	/* if a path had several files, only the last exists */
	while (m && !(m->ended && m->ino && strcmp(m->path, path) == 0))
		m = m->next;
	if (!m || fstatat(f->dirfd, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (!kf_member_has_ended(m) || m->ino != st.st_ino ||
	    m->dev != st.st_dev || !ended_is_same_file(&m->last, &st) ||
	    !ended_is_settled(&st)) {
		m->last = st;
		return false;
	}
	g->files[KF_READ_OK] += !m->read;
	m->present = true;
	m->read = true;
	m->gone = 0;
	m->dirfd = f->dirfd;
	return true;
}

/* The file of a member, with its current size and time. */
struct file {
	struct kf_member *m;
	uint64_t bytes;
};

struct files {
	struct file *file;
	size_t nr;
	size_t room;
};

static bool ended_add_file(struct files *all, struct kf_member *m)
{
	const char *name = strrchr(m->path, '/') + 1;
	struct stat st;

	if (!m->to_delete || m->dirfd < 0 ||
	    fstatat(m->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_dev != m->dev || st.st_ino != m->ino)
		return true;
	if (all->nr == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		struct file *f = realloc(all->file, room * sizeof(*f));

		if (!f)
			return false;
		all->file = f;
		all->room = room;
	}
	all->file[all->nr++] = (struct file){m, (uint64_t)st.st_blocks * 512};
	return true;
}

static int ended_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Sort by directory and user, then the oldest first. */
static int ended_by_owner_and_age(const void *a, const void *b)
{
	const struct kf_member *x = ((const struct file *)a)->m;
	const struct kf_member *y = ((const struct file *)b)->m;
	int order = ended_compare((uint64_t)x->dirfd, (uint64_t)y->dirfd);

	order = order ? order : ended_compare(x->owner, y->owner);
	order = order ? order
		      : ended_compare((uint64_t)x->ended_at,
				      (uint64_t)y->ended_at);
	return order ? order : ended_compare(x->created_ns, y->created_ns);
}

static bool ended_is_too_much(const struct kf_groups *g,
			      const struct file *oldest, size_t nr,
			      uint64_t bytes, time_t now)
{
	struct statvfs fs;

	if (now - oldest->m->ended_at >= (time_t)g->conf.keep_s ||
	    nr > KEPT_MAX)
		return true;
	return fstatvfs(oldest->m->dirfd, &fs) == 0 &&
	       (bytes > (uint64_t)fs.f_blocks * fs.f_frsize / KEPT_SHARE ||
		fs.f_bavail < fs.f_blocks / FREE_SHARE);
}

static void ended_delete_file(struct kf_member *m)
{
	const char *name = strrchr(m->path, '/') + 1;

	if (kf_place_delete(m->dirfd, name, m->dev, m->ino) == 0 ||
	    errno == ESTALE) {
		m->to_delete = false;
		m->deleted = true;
		return;
	}
	if (!m->stuck)
		kf_log(KF_LOG_WARN,
		       "cannot delete the stats file of an ended process",
		       "path", m->path, "error", strerror(errno), NULL);
	m->stuck = true;
}

/* @f: files of one user in one directory, the oldest first. */
static void ended_keep_bounds(const struct kf_groups *g, struct file *f,
			      size_t nr, time_t now)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < nr; i++)
		bytes += f[i].bytes;
	for (; nr && ended_is_too_much(g, f, nr, bytes, now); f++, nr--) {
		ended_delete_file(f->m);
		bytes -= f->bytes;
	}
}

/* Whether two files are of the same user in the same directory. */
static bool ended_is_beside(const struct file *a, const struct file *b)
{
	return a->m->dirfd == b->m->dirfd && a->m->owner == b->m->owner;
}

void kf_ended_sweep(struct kf_groups *g, time_t now)
{
	struct files all = {0};
	bool done = true;
	size_t i, end;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (struct kf_member *m = g->members[i]; m && done;
		     m = m->next)
			done = ended_add_file(&all, m);
	}
	if (all.nr)
		qsort(all.file, all.nr, sizeof(*all.file),
		      ended_by_owner_and_age);
	for (i = 0; done && i < all.nr; i = end) {
		end = i + 1;
		while (end < all.nr &&
		       ended_is_beside(&all.file[end], &all.file[i]))
			end++;
		ended_keep_bounds(g, &all.file[i], end - i, now);
	}
	free(all.file);
}
