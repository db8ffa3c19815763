/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state file, each line of it in JSON:
 *
 *	{"version": 1, "dropped": N,
 *	 "groups": [{"process", "container", "last_alive", "created_ns",
 *		     "total": {KEY: N}}],
 *	 "members": [{"path", "created_ns", "process", "container", "group",
 *		      "ended", "base": {KEY: N}, "folded", "ended_at", "uid",
 *		      "pid", "keys": [N, N]}],
 *	 "ledgers": [{"path", "folds", "new",
 *		      "rows": [{"row", "key", "first_ns", "ends",
 *				"base": {KEY: N}}]}]}
 *
 * "group" is the number of the member's group, in the order of first appearance
 * in the file, or -1. Zeroes are left out. "ledgers" is missing if there are
 * none; older files lack "created_ns" of groups, and the fields of members
 * after "base". Paths may contain any bytes and are percent-encoded. A line
 * replaces earlier lines for the same group, member or row; "new" replaces all
 * rows of a ledger. When a group, member or ledger is forgotten, the file is
 * rewritten; if it would be forgotten again at the next start, nothing is
 * written.
 */
#include "config.h"

#include "exporter/buf.h"
#include "exporter/groups/state.h"
#include "exporter/groups/state-values.h"
#include "exporter/groups/ledgers.h"
#include "exporter/log.h"
#include "exporter/replace.h"
#include "reader/place.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_VERSION 1
#define APPENDED_MIN (64 * KF_KIB) /* before the file is rewritten */

/* Takes ownership of @j. */
static void state_add_json(struct kf_buf *line, json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	if (text)
		kf_buf_str(line, text);
	else
		line->failed = true;
	free(text);
	json_decref(j);
}

/* Write all, or only those that have changed. */
static json_t *groups_to_json(const struct kf_groups *g, bool all)
{
	json_t *list = json_array();
	struct kf_group *group;
	int nth = 0;

	for (group = g->groups; group; group = group->next) {
		group->nth = nth++;
		if (!all && !group->changed)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:I, s:I, s:o}", "process",
				  group->name, "container", group->container,
				  "last_alive", (json_int_t)group->last_alive,
				  "created_ns", (json_int_t)group->created_ns,
				  "total",
				  kf_state_values_to_json(&g->figures,
							  group->total)));
	}
	return list;
}

static json_t *member_to_json(const struct kf_groups *g,
			      const struct kf_member *m)
{
	json_t *j = json_pack("{s:o, s:I, s:s, s:s, s:i, s:b, s:o}", "path",
			      kf_state_path_to_json(m->path), "created_ns",
			      (json_int_t)m->created_ns, "process", m->name,
			      "container", m->container, "group",
			      m->group ? m->group->nth : -1, "ended", m->ended,
			      "base",
			      kf_state_values_to_json(&g->figures, m->base));

	if (!j || !m->owned)
		return j;
	json_object_update_new(
		j,
		json_pack("{s:b, s:I, s:I, s:i, s:[I, I]}", "folded", m->folded,
			  "ended_at", (json_int_t)m->ended_at, "uid",
			  (json_int_t)m->owner, "pid", m->id_pid, "keys",
			  (json_int_t)m->key[0], (json_int_t)m->key[1]));
	return j;
}

static void state_add_member(struct kf_buf *line, const struct kf_groups *g,
			     const struct kf_member *m, bool all)
{
	if (!all && !m->changed)
		return;
	if (line->len && line->data[line->len - 1] != '[')
		kf_buf_str(line, ",");
	state_add_json(line, member_to_json(g, m));
}

/* One after the other: as a tree they would take several times the memory. */
static void state_add_members(struct kf_buf *line, const struct kf_groups *g,
			      bool all)
{
	for (size_t i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (const struct kf_member *m = g->members[i]; m; m = m->next)
			state_add_member(line, g, m, all);
	}
}

static json_t *rows_to_json(const struct kf_groups *g,
			    const struct kf_seen_ledger *seen, bool all)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < KF_SEEN_ROWS; i++) {
		const struct kf_seen_row *row = &seen->row[i];

		if (!row->key_hash || !(all || seen->rewrite || row->changed))
			continue;
		json_array_append_new(
			list,
			json_pack("{s:i, s:I, s:I, s:I, s:o}", "row", (int)i,
				  "key", (json_int_t)row->key_hash, "first_ns",
				  (json_int_t)row->first_ns, "ends",
				  (json_int_t)row->ends, "base",
				  kf_state_values_to_json(&g->figures,
							  row->base)));
	}
	return list;
}

static json_t *ledgers_to_json(const struct kf_groups *g, bool all)
{
	json_t *list = json_array();

	for (const struct kf_seen_ledger *seen = g->ledgers; seen;
	     seen = seen->next) {
		if (!all && !seen->changed)
			continue;
		json_array_append_new(
			list, json_pack("{s:o, s:I, s:b, s:o}", "path",
					kf_state_path_to_json(seen->path),
					"folds", (json_int_t)seen->nr_folds,
					"new", all || seen->rewrite, "rows",
					rows_to_json(g, seen, all)));
	}
	return list;
}

static void state_line_of(struct kf_buf *line, const struct kf_groups *g,
			  bool all)
{
	json_t *ledgers;

	kf_buf_fmt(line, "{\"version\":%d,\"dropped\":%llu,\"groups\":",
		   STATE_VERSION, (unsigned long long)g->dropped);
	/* groups are numbered first */
	state_add_json(line, groups_to_json(g, all));
	kf_buf_str(line, ",\"members\":[");
	state_add_members(line, g, all);
	kf_buf_str(line, "]");
	ledgers = ledgers_to_json(g, all);
	if (json_array_size(ledgers)) {
		kf_buf_str(line, ",\"ledgers\":");
		state_add_json(line, json_incref(ledgers));
	}
	json_decref(ledgers);
	kf_buf_str(line, "}\n");
}

static int state_save_all(struct kf_groups *g, const char *line, size_t len)
{
	struct kf_state_end *end = &g->state;

	if (end->fd >= 0)
		close(end->fd);
	end->fd = -1;
	if (kf_file_replace(g->conf.state_file, 0640, line, len) != 0)
		return -1;
	end->fd = kf_file_open_trusted(g->conf.state_file, O_WRONLY | O_APPEND,
				       0);
	end->whole = len;
	end->appended = 0;
	g->rewrite = false;
	return 0;
}

/* Whether the file still exists and is not long enough to be rewritten. */
static bool state_may_append(const struct kf_groups *g)
{
	const struct kf_state_end *end = &g->state;
	struct stat now, open;

	return end->fd >= 0 && !g->rewrite &&
	       end->appended < KF_MAX(end->whole, (uint64_t)APPENDED_MIN) &&
	       fstat(end->fd, &open) == 0 &&
	       stat(g->conf.state_file, &now) == 0 &&
	       now.st_dev == open.st_dev && now.st_ino == open.st_ino &&
	       (uint64_t)now.st_size == end->whole + end->appended;
}

static void state_forget_changes(struct kf_groups *g)
{
	struct kf_seen_ledger *seen;
	struct kf_group *group;
	struct kf_member *m;
	size_t i;

	for (group = g->groups; group; group = group->next)
		group->changed = false;
	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			m->changed = false;
	}
	for (seen = g->ledgers; seen; seen = seen->next) {
		seen->changed = seen->rewrite = false;
		for (i = 0; i < KF_SEEN_ROWS; i++)
			seen->row[i].changed = false;
	}
}

int kf_state_save(struct kf_groups *g)
{
	bool all = !state_may_append(g);
	struct kf_buf line = {0};
	int rc;

	state_line_of(&line, g, all);
	if (line.failed) {
		kf_buf_free(&line);
		errno = ENOMEM;
		return -1;
	}
	if (all) {
		rc = state_save_all(g, line.data, line.len);
	} else {
		/* if it fails the size differs: see state_may_append() */
		rc = kf_file_append(g->state.fd, line.data, line.len);
		g->state.appended += line.len;
		g->rewrite = rc != 0;
	}
	kf_buf_free(&line);
	if (rc == 0)
		state_forget_changes(g);
	return rc;
}

static struct kf_group *state_nth_group(struct kf_groups *g, int n)
{
	struct kf_group *group = n < 0 ? NULL : g->groups;

	while (group && n-- > 0)
		group = group->next;
	return group;
}

static struct kf_group *state_group_named(struct kf_groups *g, const char *name,
					  const char *container)
{
	struct kf_group *group, **end = &g->groups;

	for (; (group = *end); end = &group->next) {
		if (strcmp(group->name, name) == 0 &&
		    strcmp(group->container, container) == 0)
			return group;
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	snprintf(group->name, sizeof(group->name), "%s", name);
	snprintf(group->container, sizeof(group->container), "%s", container);
	if (strcmp(name, KF_OTHER) != 0 || *container)
		g->nr_groups++;
	return *end = group;
}

static bool load_group(struct kf_groups *g, json_t *j)
{
	const char *name, *container;
	struct kf_group *group;
	json_int_t last_alive, created_ns = 0; /* older files do not have it */
	json_t *total;

	if (json_unpack(j, "{s:s, s:s, s:I, s?I, s:o}", "process", &name,
			"container", &container, "last_alive", &last_alive,
			"created_ns", &created_ns, "total", &total) != 0)
		return false;
	group = state_group_named(g, name, container);
	if (!group)
		return false;
	group->last_alive = (time_t)last_alive;
	group->created_ns = created_ns > 0 ? (uint64_t)created_ns : 0;
	group->announced = true;
	memset(group->total, 0, sizeof(group->total));
	kf_state_values_from_json(&g->figures, total, group->total);
	return true;
}

/* Fields that older files do not have. */
static void load_ending(struct kf_member *m, json_t *j)
{
	json_int_t ended_at, uid, key[2];
	int folded, pid;

	if (json_unpack(j, "{s:b, s:I, s:I, s:i, s:[I, I]}", "folded", &folded,
			"ended_at", &ended_at, "uid", &uid, "pid", &pid, "keys",
			&key[0], &key[1]) != 0)
		return;
	m->folded = folded;
	m->ended_at = (time_t)ended_at;
	m->owner = (uint32_t)uid;
	m->owned = true;
	m->id_pid = pid;
	m->key[0] = (uint64_t)key[0];
	m->key[1] = (uint64_t)key[1];
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
	m = path && kf_state_path_from_json(path)
		    ? kf_member_get(g, path, (uint64_t)created_ns)
		    : NULL;
	free(path);
	if (!m)
		return false;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->container, sizeof(m->container), "%s", container);
	m->group = state_nth_group(g, group);
	m->ended = ended;
	m->container_known = true;
	if (!m->base)
		m->base = calloc(KF_MAX_FIGURES, sizeof(m->base[0]));
	if (!m->base)
		return false;
	memset(m->base, 0, KF_MAX_FIGURES * sizeof(m->base[0]));
	kf_state_values_from_json(&g->figures, base, m->base);
	memcpy(m->seen, m->base, sizeof(m->seen));
	load_ending(m, j);
	return true;
}

static bool load_row(struct kf_groups *g, struct kf_seen_ledger *seen,
		     json_t *j)
{
	json_int_t key, first_ns, ends;
	struct kf_seen_row *row;
	json_t *base;
	int i;

	if (json_unpack(j, "{s:i, s:I, s:I, s:I, s:o}", "row", &i, "key", &key,
			"first_ns", &first_ns, "ends", &ends, "base",
			&base) != 0 ||
	    i < 0 || i >= KF_SEEN_ROWS)
		return false;
	row = &seen->row[i];
	row->key_hash = (uint64_t)key;
	row->first_ns = (uint64_t)first_ns;
	row->ends = (uint64_t)ends;
	if (!row->base)
		row->base = calloc(KF_MAX_FIGURES, sizeof(row->base[0]));
	if (!row->base)
		return false;
	memset(row->base, 0, KF_MAX_FIGURES * sizeof(row->base[0]));
	kf_state_values_from_json(&g->figures, base, row->base);
	return true;
}

static bool load_ledger(struct kf_groups *g, json_t *j)
{
	struct kf_seen_ledger *seen;
	const char *encoded;
	json_t *rows, *row;
	json_int_t folds;
	char *path;
	size_t i;
	int anew;

	if (json_unpack(j, "{s:s, s:I, s:b, s:o}", "path", &encoded, "folds",
			&folds, "new", &anew, "rows", &rows) != 0)
		return false;
	path = strdup(encoded);
	seen = path && kf_state_path_from_json(path) ? kf_ledgers_get(g, path)
						     : NULL;
	free(path);
	if (!seen)
		return false;
	if (anew)
		kf_seen_ledger_reset(seen);
	seen->nr_folds = (uint64_t)folds;
	json_array_foreach(rows, i, row)
	{
		if (!load_row(g, seen, row))
			return false;
	}
	return true;
}

static bool load_line(struct kf_groups *g, json_t *root)
{
	json_t *groups, *members, *ledgers = NULL, *j;
	json_int_t dropped;
	size_t i;
	int version;

	if (json_unpack(root, "{s:i, s:I, s:o, s:o, s?o}", "version", &version,
			"dropped", &dropped, "groups", &groups, "members",
			&members, "ledgers", &ledgers) != 0 ||
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
	json_array_foreach(ledgers, i, j)
	{
		if (!load_ledger(g, j))
			return false;
	}
	return true;
}

/* Parse the lines of a file; @why: out, the reason if they are invalid. */
static bool load_lines(struct kf_groups *g, FILE *f, const char **why)
{
	char *line = NULL;
	size_t room = 0;
	bool done = true;
	json_t *root;
	ssize_t len;
	int nth;

	for (nth = 0; done && (len = getline(&line, &room, f)) > 0; nth++) {
		/*
		 * the exporter was killed while writing it; the first line is
		 * never truncated
		 */
		if (nth && line[len - 1] != '\n')
			break;
		root = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES,
				  NULL);
		*why = root ? "not a state file" : "not JSON";
		done = root && load_line(g, root);
		json_decref(root);
	}
	free(line);
	if (nth == 0)
		*why = "empty";
	return done && nth > 0;
}

/* Keep a damaged file for examination. */
static int state_put_aside(struct kf_groups *g, const char *why)
{
	if (!g->conf.read_only &&
	    kf_file_move_aside(g->conf.state_file, ".damaged") != 0) {
		fprintf(stderr,
			"konfiscator_exporter: state file %s is damaged (%s) and cannot be moved aside: %s\n",
			g->conf.state_file, why, strerror(errno));
		return -1;
	}
	kf_log(KF_LOG_ERROR, "state file is damaged: counters restart", "path",
	       g->conf.state_file, "why", why, NULL);
	return 0;
}

int kf_state_load(struct kf_groups *g)
{
	int fd = kf_file_open_trusted(g->conf.state_file, O_RDONLY | O_NONBLOCK,
				      0);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	const char *why = NULL;
	bool whole;

	if (!f && errno == ENOENT)
		return 0;
	if (!f) {
		fprintf(stderr,
			"konfiscator_exporter: cannot read state file %s: %s\n",
			g->conf.state_file, kf_place_error(errno));
		return -1;
	}
	whole = load_lines(g, f, &why);
	fclose(f);
	state_forget_changes(g);
	g->dirty = false;
	if (whole)
		return 0;
	kf_groups_clear(g);
	return state_put_aside(g, why);
}

int kf_state_lock(struct kf_groups *g)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[4096];

	snprintf(path, sizeof(path), "%s.lock", g->conf.state_file);
	g->lock_fd = kf_file_open_trusted(path, O_RDWR | O_CREAT, 0640);
	if (g->lock_fd >= 0 && fcntl(g->lock_fd, F_OFD_SETLK, &whole) == 0)
		return 0;
	if (g->lock_fd >= 0 && (errno == EAGAIN || errno == EACCES))
		fprintf(stderr,
			"konfiscator_exporter: state file %s is in use by another exporter\n",
			g->conf.state_file);
	else
		fprintf(stderr,
			"konfiscator_exporter: cannot lock state file with %s: %s\n",
			path, kf_place_error(errno));
	return -1;
}
