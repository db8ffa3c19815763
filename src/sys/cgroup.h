/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory limit of this process' cgroup, of version 1 or 2, and how short
 * memory is, read inside malloc: no call allocates.
 */
#ifndef KF_SYS_CGROUP_H
#define KF_SYS_CGROUP_H

#include "sys/lines.h"

#include <limits.h>

/* Memory for a search. */
struct kf_cgroup {
	struct kf_lines lines;
	bool v1;
	char path[PATH_MAX]; /* of the cgroup, within the hierarchy */
	char dir[PATH_MAX];  /* its directory */
	size_t top;	     /* bytes of @dir: where the hierarchy is mounted */
};

/**
 * kf_cgroup_memory_limit() - the lowest memory limit of the process' cgroups
 * @c:		memory for the search
 * @root:	a directory in place of /, for tests; "" else
 *
 * Limits of the process' cgroup and of those above it count, as far as they can
 * be seen: of version 2 memory.max and memory.high, of version 1
 * memory.limit_in_bytes.
 *
 * Context: any; opens files.
 * Return: bytes; 0: there is no limit, or none can be seen.
 */
uint64_t kf_cgroup_memory_limit(struct kf_cgroup *c, const char *root);

/* Both only grow. */
struct kf_pressure {
	uint64_t stalled_us; /* time in which tasks waited for memory */
	uint64_t high;	     /* times memory.high was exceeded */
	bool of_cgroup;	     /* @stalled_us is that of a cgroup */
	bool has_high;
};

/**
 * kf_cgroup_pressure() - how short memory has been
 * @c:		memory for the search
 * @root:	as kf_cgroup_memory_limit()
 * @pressure:	out: of the process' cgroup of version 2: "some" of
 *		memory.pressure, and "high" of memory.events; without these, of
 *		/proc/pressure/memory, and 0; limits of outer cgroups show in
 *		"some" alone
 *
 * Context: any; opens files.
 * Return: false: nothing says it.
 */
bool kf_cgroup_pressure(struct kf_cgroup *c, const char *root,
			struct kf_pressure *pressure) __must_check;

#endif
