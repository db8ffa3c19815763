/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cgroups of living processes. A cgroup has one figure for all of its
 * processes, so there is no sum over processes.
 */
#ifndef KF_EXPORTER_GROUPS_CGROUPS_H
#define KF_EXPORTER_GROUPS_CGROUPS_H

#include "exporter/cgroup.h"
#include "exporter/groups/groups.h"

/* @place.path is from the kernel, unescaped. */
struct kf_cgroup {
	struct kf_cgroup *next;
	struct kf_cgroup_place place;
	char container[KF_CONTAINER_SHORT];
	unsigned int processes; /* living processes with stats files */
	uint64_t held;		/* held by these, bytes */
};

/**
 * kf_cgroups_look() - bring the list of cgroups up to date
 * @g:		the groups, locked, after a scan
 */
void kf_cgroups_look(struct kf_groups *g);

/**
 * kf_cgroups_finish() - forget all cgroups
 * @g:		the groups, locked or not yet shared
 */
void kf_cgroups_finish(struct kf_groups *g);

#endif
