/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members whose processes have ended, and their files.
 *
 * Each end counts once. The file of a killed process stays for konfiscator
 * explain, for --stats.keep-ended: of each user in each directory at most 256
 * files, in 1 % of the file system, and none if less than 10 % of it is free.
 * The oldest file is deleted first. A file is deleted only after its counters
 * are in the state file.
 */
#ifndef KF_EXPORTER_GROUPS_ENDED_H
#define KF_EXPORTER_GROUPS_ENDED_H

#include "exporter/groups/groups.h"

/**
 * kf_ended_name() - get the group of a process that has ended
 * @g:		the groups, locked
 * @s:		its stats file, or its row of a ledger
 * @name:	out: the group's name, clean
 * @container:	out: its container, or ""
 */
void kf_ended_name(struct kf_groups *g, const struct kf_snapshot *s,
		   char name[KF_NAME_SIZE], char container[KF_CONTAINER_SHORT]);

/**
 * kf_ended_look() - find out how the process of a file ended
 * @g:		the groups, locked
 * @f:		the file, of a process that has ended
 *
 * Reads the kernel's log, once in a scan.
 *
 * Return: the class of its end; unknown when out of memory.
 */
enum kf_ended_cause kf_ended_look(struct kf_groups *g, const struct kf_file *f);

/**
 * kf_ended_done() - forget the kernel's log, at the end of a scan
 * @g:		the groups, locked
 */
void kf_ended_done(struct kf_groups *g);

/**
 * kf_member_end() - count the end of a member's process
 * @g:		the groups, locked
 * @m:		the member; read in this scan
 * @now:	CLOCK_REALTIME
 *
 * Context: any thread; harmless twice.
 * Return: false when out of memory.
 */
bool kf_member_end(struct kf_groups *g, struct kf_member *m, time_t now);

/**
 * kf_member_end_folded() - end a member whose counters are in a ledger
 * @g:		the groups, locked
 * @m:		the member
 * @now:	CLOCK_REALTIME
 *
 * The counts in its groups become its base. Counts beyond them are added by the
 * ledger.
 *
 * Return: false when out of memory.
 */
bool kf_member_end_folded(struct kf_groups *g, struct kf_member *m, time_t now);

/**
 * kf_ended_skip() - whether a file is unchanged since its process ended
 * @g:		the groups, locked
 * @f:		the file
 * @path:	its path
 *
 * If so, marks its member as present and read.
 *
 * Return: true if so.
 */
bool kf_ended_skip(struct kf_groups *g, const struct kf_file *f,
		   const char *path);

/**
 * kf_ended_sweep() - delete files of ended processes beyond the limits
 * @g:		the groups, locked; their directories are open, and their counts
 *		are durable
 * @now:	CLOCK_REALTIME
 */
void kf_ended_sweep(struct kf_groups *g, time_t now);

#endif
