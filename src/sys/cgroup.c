/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cgroup of this process: see cgroup.h.
 *
 * /proc/self/cgroup has the path of the cgroup within its hierarchy, and
 * /proc/self/mountinfo which part of the hierarchy is mounted where. A
 * container may see the path from outside, and have only its own cgroup
 * mounted.
 */
#include "sys/cgroup.h"

#include "base/text.h"
#include "sys/file.h"

#include <string.h>

/* Version 1 has the largest multiple of the page where there is no limit. */
#define NO_LIMIT (1ull << 62)

/* Whether a list "a,b,c" has a word. */
static bool cgroup_has_word(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);
	const char *end = list + len, *comma;

	for (; list < end; list = comma + 1) {
		comma = memchr(list, ',', (size_t)(end - list));
		if (!comma)
			comma = end;
		if ((size_t)(comma - list) == n && !memcmp(list, word, n))
			return true;
	}
	return false;
}

static bool cgroup_set_dir(struct kf_cgroup *c, const char *root,
			   const char *place, const char *below)
{
	struct kf_text text;

	kf_text_init(&text, c->dir, sizeof(c->dir));
	kf_text_str(&text, root);
	kf_text_str(&text, place);
	c->top = text.len;
	kf_text_str(&text, below);
	return !kf_text_full(&text);
}

/*
 * NUMBER:CONTROLLERS:PATH. Where version 1 has the memory controller, version
 * 2, whose list is empty, does not.
 */
static bool cgroup_find_path(struct kf_cgroup *c, const char *root)
{
	bool found = false;
	char *line;
	size_t len;

	if (!cgroup_set_dir(c, root, "/proc/self/cgroup", "") ||
	    kf_lines_open(&c->lines, c->dir))
		return false;
	while ((line = kf_lines_next(&c->lines, &len))) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		size_t n = path ? (size_t)(path - list) - 1 : 0;
		bool v1 = path && cgroup_has_word(list + 1, n, "memory");

		if (!path || (n && !v1) || len >= sizeof(c->path))
			continue;
		memcpy(c->path, path + 1, strlen(path + 1) + 1);
		found = true;
		c->v1 = v1;
		if (v1)
			break;
	}
	kf_lines_close(&c->lines);
	return found;
}

/* Spaces and backslashes are \ooo in mountinfo. */
static void cgroup_unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] &&
		    s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static char *cgroup_field(char **rest)
{
	char *field = *rest;
	char *end = field ? strchr(field, ' ') : NULL;

	if (end)
		*end++ = '\0';
	*rest = end;
	return field;
}

/*
 * ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [...] - TYPE SOURCE OPTIONS. Whether
 * it is of the memory hierarchy.
 */
static bool cgroup_is_mount(const struct kf_cgroup *c, char *line, char **root,
			    char **place)
{
	char *rest = strstr(line, " - ");
	const char *type, *options;

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	type = cgroup_field(&rest);
	cgroup_field(&rest);
	options = rest;
	if (strcmp(type, c->v1 ? "cgroup" : "cgroup2") != 0 ||
	    (c->v1 && (!options ||
		       !cgroup_has_word(options, strlen(options), "memory"))))
		return false;
	for (int i = 0; i < 3; i++)
		cgroup_field(&line);
	*root = cgroup_field(&line);
	*place = cgroup_field(&line);
	if (!*place)
		return false;
	cgroup_unescape(*root);
	cgroup_unescape(*place);
	return true;
}

/* The path below the root of a mount; NULL: it is not below. */
static const char *cgroup_below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/') ||
	    strstr(path, "/.."))
		return NULL;
	return strcmp(path + n, "/") == 0 ? "" : path + n;
}

/*
 * Where the path is not below the root of any mount, the mount is taken for the
 * cgroup itself, as in a container.
 */
static bool cgroup_find_dir(struct kf_cgroup *c, const char *root)
{
	char *line, *from, *place;
	bool found = false, sure = false;
	size_t len;

	if (!cgroup_set_dir(c, root, "/proc/self/mountinfo", "") ||
	    kf_lines_open(&c->lines, c->dir))
		return false;
	while (!sure && (line = kf_lines_next(&c->lines, &len))) {
		const char *below;

		if (!cgroup_is_mount(c, line, &from, &place))
			continue;
		below = cgroup_below(c->path, from);
		if (found && !below)
			continue;
		found = cgroup_set_dir(c, root, place, below ? below : "");
		sure = found && below;
	}
	kf_lines_close(&c->lines);
	return found;
}

/* A file below a directory; false: there is none. */
static bool cgroup_read_file(const char *dir, const char *name, char *buf,
			     size_t size)
{
	char path[PATH_MAX];
	struct kf_text text;

	kf_text_init(&text, path, sizeof(path));
	kf_text_str(&text, dir);
	kf_text_char(&text, '/');
	kf_text_str(&text, name);
	return !kf_text_full(&text) && kf_file_read(path, buf, size) > 0;
}

/* A number of the current directory; UINT64_MAX for none, or no limit. */
static uint64_t cgroup_read(const struct kf_cgroup *c, const char *name)
{
	char number[32];
	const char *s = number;
	uint64_t value;

	if (!cgroup_read_file(c->dir, name, number, sizeof(number)))
		return UINT64_MAX;
	value = kf_parse_digits(&s, 10);
	return s == number || value >= NO_LIMIT ? UINT64_MAX : value;
}

static uint64_t cgroup_limit_here(const struct kf_cgroup *c)
{
	uint64_t max, high;

	if (c->v1)
		return cgroup_read(c, "memory.limit_in_bytes");
	max = cgroup_read(c, "memory.max");
	high = cgroup_read(c, "memory.high");
	return KF_MIN(max, high);
}

uint64_t kf_cgroup_memory_limit(struct kf_cgroup *c, const char *root)
{
	uint64_t lowest = UINT64_MAX;
	size_t len;

	if (!cgroup_find_path(c, root) || !cgroup_find_dir(c, root))
		return 0;
	for (len = strlen(c->dir);;) {
		uint64_t limit = cgroup_limit_here(c);

		lowest = KF_MIN(lowest, limit);
		if (len <= c->top)
			break;
		while (len > c->top && c->dir[--len] != '/')
			;
		c->dir[len] = '\0';
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

/* The number behind a word of a file; 0 if there is none. */
static uint64_t cgroup_number(const char *text, const char *word)
{
	const char *s = strstr(text, word);

	if (!s)
		return 0;
	s += strlen(word);
	return kf_parse_digits(&s, 10);
}

/* The first line is "some". */
static bool cgroup_stalled(const char *dir, const char *name,
			   struct kf_pressure *pressure)
{
	char buf[256];

	if (!cgroup_read_file(dir, name, buf, sizeof(buf)) ||
	    strncmp(buf, "some ", 5) != 0)
		return false;
	pressure->stalled_us = cgroup_number(buf, " total=");
	return true;
}

bool kf_cgroup_pressure(struct kf_cgroup *c, const char *root,
			struct kf_pressure *pressure)
{
	char buf[512];

	*pressure = (struct kf_pressure){0};
	if (!cgroup_find_path(c, root) || c->v1 || !cgroup_find_dir(c, root))
		return cgroup_stalled(root, "proc/pressure/memory", pressure);
	pressure->has_high =
		cgroup_read_file(c->dir, "memory.events", buf, sizeof(buf)) &&
		strstr(buf, "\nhigh ");
	if (pressure->has_high)
		pressure->high = cgroup_number(buf, "\nhigh ");
	pressure->of_cgroup =
		cgroup_stalled(c->dir, "memory.pressure", pressure);
	return pressure->of_cgroup ||
	       cgroup_stalled(root, "proc/pressure/memory", pressure) ||
	       pressure->has_high;
}
