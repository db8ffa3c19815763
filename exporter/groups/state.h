/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state file: what groups have counted and which files are part of it.
 *
 * Promises: what was saved is there whatever happens to the exporter, and one
 * exporter at a time uses it. Its first line is all that was known when it was
 * last replaced, whole and durably; what changed since is appended, a line for
 * each save, until these are as long as the first one. A last line that does
 * not end was being written when the exporter was killed, and says nothing.
 * Lines are JSON; unknown counters are kept only where this version knows them.
 */
#ifndef KF_EXPORTER_GROUPS_STATE_H
#define KF_EXPORTER_GROUPS_STATE_H

#include "exporter/groups/groups.h"

/**
 * kf_state_lock() - keep other exporters from the state file
 * @g:		the groups
 *
 * Context: once, before kf_state_load().
 * Return: 0, or -1; the reason was printed on stderr.
 */
int kf_state_lock(struct kf_groups *g);

/**
 * kf_state_load() - read the state file into empty groups
 * @g:		the groups
 *
 * A file that is not there is an empty one.
 *
 * Context: once, before the first scan.
 * Return: 0, or -1 when it cannot be read; the reason was printed.
 */
int kf_state_load(struct kf_groups *g);

/**
 * kf_state_save() - make what the groups know durable
 * @g:		the groups, locked
 *
 * Context: any thread. Waits for the disk.
 * Return: 0, or -1 with errno; what the state file said it says then.
 */
int kf_state_save(struct kf_groups *g);

#endif
