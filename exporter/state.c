/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state file, in JSON:
 *
 *	{"version": 1, "dropped": N,
 *	 "groups": [{"process", "container", "last_alive", "total": {KEY: N}}],
 *	 "members": [{"path", "created_ns", "process", "container", "group",
 *		      "ended", "base": {KEY: N}}]}
 *
 * "group" is the index of the member's group, or -1. Zeroes are left out.
 * Paths may hold any bytes and are percent-encoded.
 */
#include "config.h"

#include "exporter/state.h"
#include "exporter/buf.h"
#include "exporter/log.h"
#include "exporter/replace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_VERSION 1

static json_t *path_to_json(const char *path)
{
	struct kf_buf b = {0};
	json_t *j = NULL;

	for (; *path; path++) {
		if (isgraph((unsigned char)*path) && *path != '%')
			kf_buf_add(&b, path, 1);
		else
			kf_buf_fmt(&b, "%%%02x", (unsigned char)*path);
	}
	if (!b.failed && b.data)
		j = json_string(b.data);
	kf_buf_free(&b);
	return j;
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *p = strchr(digits, c);

	return c && p ? (int)(p - digits) : -1;
}

/* Decode in place; false where the text is no encoded path. */
static bool path_from_json(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		if (hex(s[1]) < 0 || hex(s[2]) < 0)
			return false;
		*out++ = (char)(hex(s[1]) * 16 + hex(s[2]));
		s += 2;
	}
	*out = '\0';
	return true;
}

static json_t *values_to_json(const struct kf_figures *t, const uint64_t *value)
{
	json_t *j = json_object();
	unsigned int i;

	for (i = 0; value && i < t->nr; i++) {
		if (value[i] && kf_figure_grows(&t->figure[i]))
			json_object_set_new(j, t->figure[i].key,
					    json_integer((json_int_t)value[i]));
	}
	return j;
}

static void values_from_json(const struct kf_figures *t, json_t *j,
			     uint64_t *value)
{
	const char *key;
	json_t *v;

	json_object_foreach(j, key, v)
	{
		int i = kf_figures_find(t, key);

		if (i >= 0 && json_integer_value(v) > 0)
			value[i] = (uint64_t)json_integer_value(v);
	}
}

static json_t *groups_to_json(const struct kf_groups *g)
{
	json_t *list = json_array();
	struct kf_group *group;

	for (group = g->groups; group; group = group->next)
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:I, s:o}", "process",
				  group->name, "container", group->container,
				  "last_alive", (json_int_t)group->last_alive,
				  "total",
				  values_to_json(&g->figures, group->total)));
	return list;
}

static int index_of(const struct kf_groups *g, const struct kf_group *wanted)
{
	const struct kf_group *group;
	int i = 0;

	for (group = g->groups; group; group = group->next, i++) {
		if (group == wanted)
			return i;
	}
	return -1;
}

static json_t *members_to_json(const struct kf_groups *g)
{
	json_t *list = json_array();
	const struct kf_member *m;
	size_t i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			json_array_append_new(
				list,
				json_pack(
					"{s:o, s:I, s:s, s:s, s:i, s:b, s:o}",
					"path", path_to_json(m->path),
					"created_ns", (json_int_t)m->created_ns,
					"process", m->name, "container",
					m->container, "group",
					index_of(g, m->group), "ended",
					m->ended, "base",
					values_to_json(&g->figures, m->base)));
	}
	return list;
}

int kf_state_save(const struct kf_groups *g)
{
	json_t *root =
		json_pack("{s:i, s:I, s:o, s:o}", "version", STATE_VERSION,
			  "dropped", (json_int_t)g->dropped, "groups",
			  groups_to_json(g), "members", members_to_json(g));
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	int rc = -1;

	if (text)
		rc = kf_file_replace(g->conf.state_file, 0640, text,
				     strlen(text));
	else
		errno = ENOMEM;
	free(text);
	json_decref(root);
	return rc;
}

static struct kf_group *nth_group(struct kf_groups *g, int n)
{
	struct kf_group *group = n < 0 ? NULL : g->groups;

	while (group && n-- > 0)
		group = group->next;
	return group;
}

static bool load_group(struct kf_groups *g, json_t *j)
{
	struct kf_group *group, **end = &g->groups;
	const char *name, *container;
	json_int_t last_alive;
	json_t *total;

	if (json_unpack(j, "{s:s, s:s, s:I, s:o}", "process", &name,
			"container", &container, "last_alive", &last_alive,
			"total", &total) != 0)
		return false;
	group = calloc(1, sizeof(*group));
	if (!group)
		return false;
	snprintf(group->name, sizeof(group->name), "%s", name);
	snprintf(group->container, sizeof(group->container), "%s", container);
	group->last_alive = (time_t)last_alive;
	values_from_json(&g->figures, total, group->total);
	while (*end)
		end = &(*end)->next;
	*end = group;
	if (strcmp(name, "other") != 0 || *container)
		g->nr_groups++;
	return true;
}

static bool load_member(struct kf_groups *g, json_t *j)
{
	const char *name, *container, *encoded;
	json_int_t created_ns;
	struct kf_member *m;
	int group, ended;
	char *path;
	json_t *base;

	if (json_unpack(j, "{s:s, s:I, s:s, s:s, s:i, s:b, s:o}", "path",
			&encoded, "created_ns", &created_ns, "process", &name,
			"container", &container, "group", &group, "ended",
			&ended, "base", &base) != 0)
		return false;
	path = strdup(encoded);
	m = path && path_from_json(path)
		    ? kf_member_get(g, path, (uint64_t)created_ns)
		    : NULL;
	free(path);
	if (!m)
		return false;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->container, sizeof(m->container), "%s", container);
	m->group = nth_group(g, group);
	m->ended = ended;
	m->looked = true;
	if (!m->base)
		m->base = calloc(KF_MAX_FIGURES, sizeof(m->base[0]));
	if (!m->base)
		return false;
	values_from_json(&g->figures, base, m->base);
	memcpy(m->seen, m->base, sizeof(m->seen));
	return true;
}

static bool load_all(struct kf_groups *g, json_t *root)
{
	json_t *groups, *members, *j;
	json_int_t dropped;
	size_t i;
	int version;

	if (json_unpack(root, "{s:i, s:I, s:o, s:o}", "version", &version,
			"dropped", &dropped, "groups", &groups, "members",
			&members) != 0 ||
	    version != STATE_VERSION)
		return false;
	g->dropped = (uint64_t)dropped;
	json_array_foreach(groups, i, j)
	{
		if (!load_group(g, j))
			return false;
	}
	json_array_foreach(members, i, j)
	{
		if (!load_member(g, j))
			return false;
	}
	g->dirty = false;
	return true;
}

/* A damaged file is kept for whoever wants to look at it. */
static int put_aside(struct kf_groups *g, const char *why)
{
	char aside[4096];

	snprintf(aside, sizeof(aside), "%s.damaged", g->conf.state_file);
	if (!g->conf.read_only && rename(g->conf.state_file, aside) != 0) {
		fprintf(stderr,
			"konfiscator_exporter: state file %s is damaged (%s) and cannot be put aside: %s\n",
			g->conf.state_file, why, strerror(errno));
		return -1;
	}
	kf_log(KF_LOG_ERROR, "state file is damaged: counters start anew",
	       "path", g->conf.state_file, "why", why, NULL);
	return 0;
}

int kf_state_load(struct kf_groups *g)
{
	int fd = open(g->conf.state_file, O_RDONLY | O_CLOEXEC);
	json_error_t error;
	json_t *root;
	bool whole;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0) {
		fprintf(stderr,
			"konfiscator_exporter: cannot read state file %s: %s\n",
			g->conf.state_file, strerror(errno));
		return -1;
	}
	root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
	close(fd);
	if (!root)
		return put_aside(g, error.text);
	whole = load_all(g, root);
	json_decref(root);
	if (whole)
		return 0;
	kf_groups_clear(g);
	return put_aside(g, "not of this form");
}

int kf_state_lock(struct kf_groups *g)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[4096];

	snprintf(path, sizeof(path), "%s.lock", g->conf.state_file);
	g->lock_fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (g->lock_fd >= 0 && fcntl(g->lock_fd, F_OFD_SETLK, &whole) == 0)
		return 0;
	if (g->lock_fd >= 0 && (errno == EAGAIN || errno == EACCES))
		fprintf(stderr,
			"konfiscator_exporter: state file %s is in use by another exporter\n",
			g->conf.state_file);
	else
		fprintf(stderr,
			"konfiscator_exporter: cannot lock state file with %s: %s\n",
			path, strerror(errno));
	return -1;
}
