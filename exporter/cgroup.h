/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory statistics of cgroups of version 2 and of the memory controller of
 * version 1. A container may control a path that the kernel reports: a path
 * with ".." is refused, and links out of the cgroup file system are not
 * followed.
 */
#ifndef KF_EXPORTER_CGROUP_H
#define KF_EXPORTER_CGROUP_H

#include "base/compiler.h"

#define KF_CGROUP_PATH 1024

/* The cgroup to which a process' memory is charged. */
struct kf_cgroup_place {
	char path[KF_CGROUP_PATH]; /* as the kernel names it, from "/" on */
	bool v1;
};

enum kf_cgroup_event {
	KF_CGROUP_HIGH,	    /* throttled above memory.high */
	KF_CGROUP_MAX,	    /* the limit was hit */
	KF_CGROUP_OOM,	    /* an allocation was about to fail */
	KF_CGROUP_OOM_KILL, /* processes killed */
	KF_NR_CGROUP_EVENTS
};

extern const char *const kf_cgroup_event_names[KF_NR_CGROUP_EVENTS];

struct kf_cgroup_memory {
	uint64_t current; /* bytes */
	uint64_t limit;	  /* the lowest up to the root; 0: none */
	uint64_t event[KF_NR_CGROUP_EVENTS];
	bool has_event[KF_NR_CGROUP_EVENTS];
};

/**
 * kf_cgroup_find() - find the cgroup to which a process' memory is charged
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @place:	out: the cgroup
 *
 * Return: false if the cgroup cannot be determined.
 */
bool kf_cgroup_find(const char *procfs, int pid, struct kf_cgroup_place *place);

/**
 * kf_cgroup_read() - read a cgroup's memory statistics
 * @cgroupfs:	where cgroups are mounted
 * @place:	the cgroup
 * @m:		out: the result
 *
 * Return: false if there are none, as for the root.
 */
bool kf_cgroup_read(const char *cgroupfs, const struct kf_cgroup_place *place,
		    struct kf_cgroup_memory *m);

#endif
