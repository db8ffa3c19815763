/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members whose process has ended, and their files.
 *
 * Promises: an end counts once, and the file of a process that did not end well
 * stays for those who ask what it held (konfiscator explain): for
 * --stats.keep-ended, of each user in each directory at most 256 files, in 1 %
 * of the file system, and none where less than 10 % of it is free. The oldest
 * goes first. A file goes only once its counters are in the state file.
 */
#ifndef KF_EXPORTER_GROUPS_ENDED_H
#define KF_EXPORTER_GROUPS_ENDED_H

#include "exporter/groups/groups.h"

/**
 * kf_ended_name() - the group of a process that cannot be asked any more
 * @g:		the groups, locked
 * @s:		its stats file, or its row of a ledger
 * @name:	out: the group's name, clean
 * @container:	out: its container, or ""
 *
 * Context: any thread; allocates.
 */
void kf_ended_name(struct kf_groups *g, const struct kf_snapshot *s,
		   char name[KF_NAME_SIZE], char container[KF_CONTAINER_SHORT]);

/**
 * kf_member_end() - a member's process is over
 * @g:		the groups, locked
 * @m:		the member; read in this scan
 * @now:	CLOCK_REALTIME
 *
 * Context: any thread; harmless twice.
 * Return: false when out of memory.
 */
bool kf_member_end(struct kf_groups *g, struct kf_member *m, time_t now);

/**
 * kf_member_end_folded() - what a member counted is in a ledger
 * @g:		the groups, locked
 * @m:		the member
 * @now:	CLOCK_REALTIME
 *
 * What its groups had of it until now is its base afterwards, and what it was
 * last seen to have beside that is the ledger's to add.
 *
 * Context: any thread.
 * Return: false when out of memory.
 */
bool kf_member_end_folded(struct kf_groups *g, struct kf_member *m, time_t now);

/**
 * kf_ended_skip() - whether a file is as it was read when its process had ended
 * @g:		the groups, locked
 * @f:		a file that is to be read
 * @path:	where it is
 *
 * Its member is present then, and read.
 *
 * Context: any thread.
 * Return: true if so.
 */
bool kf_ended_skip(struct kf_groups *g, const struct kf_file *f,
		   const char *path);

/**
 * kf_ended_sweep() - delete the files of ended processes that are too many
 * @g:		the groups, locked; their directories are open, and what they
 *		have counted is durable
 * @now:	CLOCK_REALTIME
 *
 * Context: any thread; allocates.
 */
void kf_ended_sweep(struct kf_groups *g, time_t now);

#endif
