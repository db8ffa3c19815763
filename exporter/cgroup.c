/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a cgroup, in versions 1 and 2.
 */
#include "config.h"

#include "exporter/cgroup.h"
#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kf_cgroup_event_names[KF_NR_CGROUP_EVENTS] = {
	[KF_CGROUP_HIGH] = "high",
	[KF_CGROUP_MAX] = "max",
	[KF_CGROUP_OOM] = "oom",
	[KF_CGROUP_OOM_KILL] = "oom_kill",
};

/* In version 1 "no limit" is the largest multiple of the page size. */
#define NO_LIMIT (1ull << 62)

static bool cgroup_leads_upwards(const char *path)
{
	const char *p = path;

	for (; (p = strstr(p, "/..")); p += 3) {
		if (!p[3] || p[3] == '/')
			return true;
	}
	return path[0] != '/';
}

static bool cgroup_take_path(struct kf_cgroup_place *place, const char *path,
			     bool v1)
{
	if (strlen(path) >= sizeof(place->path) || cgroup_leads_upwards(path))
		return false;
	memcpy(place->path, path, strlen(path) + 1);
	place->v1 = v1;
	return true;
}

/* Whether a list "a,b,c" contains the word. */
static bool cgroup_list_has(const char *list, const char *word)
{
	size_t len = strlen(word), n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == len && strncmp(list, word, n) == 0)
			return true;
	}
	return false;
}

bool kf_cgroup_find(const char *procfs, int pid, struct kf_cgroup_place *place)
{
	char text[8192], *line, *rest = text;
	bool found = false;

	kf_proc_text(procfs, pid, "cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n"))) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*controllers++ = '\0';
		*path++ = '\0';
		/* if version 1 accounts memory, version 2 does not */
		if (cgroup_list_has(controllers, "memory"))
			return cgroup_take_path(place, path, true);
		if (strcmp(line, "0") == 0 && !*controllers)
			found = cgroup_take_path(place, path, false);
	}
	return found;
}

static bool cgroup_read_text(const char *cgroupfs,
			     const struct kf_cgroup_place *place, size_t len,
			     const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s%.*s/%s", cgroupfs,
		     place->v1 ? "/memory" : "", (int)len, place->path,
		     name) >= (int)sizeof(path))
		return false;
	return kf_proc_read(AT_FDCWD, path, text, size) > 0;
}

static bool cgroup_read_number(const char *cgroupfs,
			       const struct kf_cgroup_place *place, size_t len,
			       const char *name, uint64_t *value)
{
	char text[64], *end;

	if (!cgroup_read_text(cgroupfs, place, len, name, text, sizeof(text)))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return end != text && !errno && *value <= INT64_MAX;
}

/* The limit of a cgroup is the lowest one on the path to the root. */
static uint64_t cgroup_lowest_limit(const char *cgroupfs,
				    const struct kf_cgroup_place *place)
{
	const char *name = place->v1 ? "memory.limit_in_bytes" : "memory.max";
	size_t len = strlen(place->path);
	uint64_t lowest = 0, value;

	while (len > 1) {
		if (cgroup_read_number(cgroupfs, place, len, name, &value) &&
		    value < NO_LIMIT && (!lowest || value < lowest))
			lowest = value;
		while (len && place->path[--len] != '/')
			;
	}
	return lowest;
}

static void cgroup_set_event(struct kf_cgroup_memory *m, enum kf_cgroup_event e,
			     uint64_t value)
{
	m->event[e] = value;
	m->has_event[e] = true;
}

/* Read lines "NAME NUMBER", as in memory.events and memory.oom_control. */
static void cgroup_read_events(struct kf_cgroup_memory *m, char *text)
{
	char *line, name[32];
	unsigned long long value;
	int e;

	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "%31s %llu", name, &value) != 2)
			continue;
		for (e = 0; e < KF_NR_CGROUP_EVENTS; e++) {
			if (strcmp(name, kf_cgroup_event_names[e]) == 0)
				cgroup_set_event(m, (enum kf_cgroup_event)e,
						 value);
		}
	}
}

bool kf_cgroup_read(const char *cgroupfs, const struct kf_cgroup_place *place,
		    struct kf_cgroup_memory *m)
{
	const char *events = place->v1 ? "memory.oom_control" : "memory.events";
	size_t len = strlen(place->path);
	uint64_t value;
	char text[1024];

	memset(m, 0, sizeof(*m));
	if (!cgroup_read_number(cgroupfs, place, len,
				place->v1 ? "memory.usage_in_bytes"
					  : "memory.current",
				&m->current))
		return false;
	m->limit = cgroup_lowest_limit(cgroupfs, place);
	if (cgroup_read_text(cgroupfs, place, len, events, text, sizeof(text)))
		cgroup_read_events(m, text);
	if (place->v1 &&
	    cgroup_read_number(cgroupfs, place, len, "memory.failcnt", &value))
		cgroup_set_event(m, KF_CGROUP_MAX, value);
	return true;
}
