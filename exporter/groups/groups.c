/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups and their members: see groups.h. Scans are in scan.c.
 */
#include "config.h"

#include "exporter/groups/created.h"
#include "exporter/groups/ledgers.h"
#include "exporter/log.h"
#include "exporter/groups/state.h"
#include "exporter/groups/tags.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	    (strcmp(name, KF_OTHER) != 0 || *container)) {
		g->dropped++;
		return kf_group_get(g, KF_OTHER, "");
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	snprintf(group->name, sizeof(group->name), "%s", name);
	snprintf(group->container, sizeof(group->container), "%s", container);
	group->last_alive = time(NULL);
	group->created_ns = g->before_ns;
	group->changed = true;
	*end = group;
	if (strcmp(name, KF_OTHER) != 0 || *container)
		g->nr_groups++;
	return group;
}

struct kf_member **kf_member_bucket(struct kf_groups *g, const char *path)
{
	uint64_t h = 5381;

	for (; *path; path++)
		h = h * 33 ^ (unsigned char)*path;
	return &g->members[h % KF_MEMBER_BUCKETS];
}

struct kf_member *kf_member_find(struct kf_groups *g, const char *path,
				 uint64_t created_ns)
{
	struct kf_member *m;

	for (m = *kf_member_bucket(g, path); m; m = m->next) {
		if (m->created_ns == created_ns && strcmp(m->path, path) == 0)
			return m;
	}
	return NULL;
}

struct kf_member *kf_member_get(struct kf_groups *g, const char *path,
				uint64_t created_ns)
{
	struct kf_member **at = kf_member_bucket(g, path);
	struct kf_member *m = kf_member_find(g, path, created_ns);

	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->path = strdup(path);
	if (!m->path) {
		free(m);
		return NULL;
	}
	m->created_ns = created_ns;
	m->dirfd = -1;
	m->next = *at;
	*at = m;
	m->changed = true;
	g->dirty = true;
	return m;
}

static void member_free(struct kf_member *m)
{
	free(m->path);
	free(m->base);
	free(m->exemplars);
	kf_member_tags_release(m);
	free(m);
}

bool kf_members_each(struct kf_groups *g, kf_member_fn *fn, time_t now)
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

void kf_members_drop(struct kf_groups *g, kf_member_fn *goes, time_t now)
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

/*
 * Put a member into the group of its name; its earlier counts stay in the old
 * group.
 */
bool kf_member_place(struct kf_groups *g, struct kf_member *m, const char *name,
		     const char *container)
{
	if (m->group && strcmp(m->name, name) == 0 &&
	    strcmp(m->container, container) == 0)
		return true;
	if (m->group && !kf_member_fold(g, m))
		return false;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->container, sizeof(m->container), "%s", container);
	m->group = kf_group_get(g, name, container);
	/* what was counted elsewhere does not count here */
	if (m->group && !m->base)
		kf_group_began(m->group, m->created_ns);
	m->changed = true;
	g->dirty = true;
	return m->group != NULL;
}

bool kf_file_is_gone(const char *path)
{
	const char *name;
	int fd = kf_place_of(path, &name);
	struct stat st;
	bool gone;

	gone = (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) &&
	       (errno == ENOENT || errno == ENOTDIR);
	if (fd >= 0)
		close(fd);
	return gone;
}

void kf_groups_save(struct kf_groups *g)
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

static void groups_read_boot_id(struct kf_groups *g)
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

static int groups_load(struct kf_groups *g)
{
	if (!g->conf.state_file)
		return 0;
	if (!g->conf.read_only && kf_state_lock(g) != 0)
		return -1;
	return kf_state_load(g);
}

int kf_groups_init(struct kf_groups *g, const struct kf_groups_conf *conf)
{
	memset(g, 0, sizeof(*g));
	g->conf = *conf;
	kf_created_begin(g);
	g->lock_fd = -1;
	g->state.fd = -1;
	pthread_mutex_init(&g->lock, NULL);
	kf_figures_init(&g->figures);
	/* without @file_cache, files are opened each time */
	g->file_cache = conf->read_only ? NULL : kf_file_cache_new();
	groups_read_boot_id(g);
	if (groups_load(g) != 0)
		return -1;
	kf_created_configure(g);
	return 0;
}

static bool groups_ask_again(struct kf_groups *g, struct kf_member *m,
			     time_t now)
{
	m->ruled[0] = '\0';
	return true;
}

struct kf_naming *kf_groups_rename(struct kf_groups *g,
				   struct kf_naming *naming)
{
	struct kf_naming *old;

	pthread_mutex_lock(&g->lock);
	old = g->conf.naming;
	g->conf.naming = naming;
	kf_members_each(g, groups_ask_again, 0);
	kf_created_configure(g);
	/* a scan made with the old rules would be reused for a while */
	g->scanned = false;
	pthread_mutex_unlock(&g->lock);
	return old;
}

static bool groups_fold_living(struct kf_groups *g, struct kf_member *m,
			       time_t now)
{
	return m->ended || m->gone || kf_member_fold(g, m);
}

static bool groups_any_member(struct kf_groups *g, struct kf_member *m,
			      time_t now)
{
	return true;
}

void kf_groups_clear(struct kf_groups *g)
{
	struct kf_group *group;

	kf_members_drop(g, groups_any_member, 0);
	while ((group = g->groups)) {
		g->groups = group->next;
		free(group);
	}
	kf_ledgers_clear(g);
	g->nr_groups = 0;
	g->dropped = 0;
}

void kf_groups_finish(struct kf_groups *g)
{
	struct kf_bad_file *b;

	/* so that files deleted between scans are not lost */
	if (g->conf.state_file && !g->conf.read_only) {
		kf_members_each(g, groups_fold_living, 0);
		kf_groups_save(g);
	}
	kf_groups_clear(g);
	kf_file_cache_free(g->file_cache);
	while ((b = g->bad)) {
		g->bad = b->next;
		free(b->path);
		free(b);
	}
	if (g->state.fd >= 0)
		close(g->state.fd);
	if (g->lock_fd >= 0)
		close(g->lock_fd);
	pthread_mutex_destroy(&g->lock);
}
