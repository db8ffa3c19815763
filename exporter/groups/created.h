/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The created time of a group, at which all its counters were 0.
 *
 * A server adds a zero at that time, so that increase() has the first value
 * too. For this the time must be before the request that shows the group first,
 * and after the last one that showed an earlier group of that name. It never
 * changes: a group that is forgotten and comes back begins at 0 with a later
 * one. Groups whose names are known from the rules are there from the start, at
 * 0.
 */
#ifndef KF_EXPORTER_GROUPS_CREATED_H
#define KF_EXPORTER_GROUPS_CREATED_H

#include "exporter/groups/groups.h"

/**
 * kf_created_begin() - begin a scan
 * @g:		the groups, locked, or not yet shared before the first scan
 *
 * Sets @g->before_ns, the created time of the groups that the scan makes,
 * unless they count something that began before.
 */
void kf_created_begin(struct kf_groups *g);

/**
 * kf_group_began() - note when a process began that a group counts
 * @group:	the group; nothing is noted if its created time is final
 * @ns:		CLOCK_REALTIME; 0: not known
 */
void kf_group_began(struct kf_group *group, uint64_t ns);

/**
 * kf_group_created() - when a counter of a group was 0
 * @group:	the group
 * @f:		the counter
 *
 * Return: CLOCK_REALTIME in nanoseconds; 0: not known.
 */
uint64_t kf_group_created(const struct kf_group *group,
			  const struct kf_figure *f);

/**
 * kf_created_configure() - make the groups that the rules know by name
 * @g:		the groups, locked, or not yet shared
 *
 * These, and no others, are never forgotten.
 */
void kf_created_configure(struct kf_groups *g);

#endif
