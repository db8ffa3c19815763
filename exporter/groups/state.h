/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state file: the counts of groups, and the files included in them.
 *
 * Saved state survives any end of the exporter, and one exporter at a time uses
 * the file. The first line has the complete state at the last rewrite, which is
 * atomic and durable. Each save appends a line with the changes, until the
 * appended lines are as long as the first. An incomplete last line, from a
 * killed exporter, is ignored. Lines are JSON; counters unknown to this version
 * are dropped.
 */
#ifndef KF_EXPORTER_GROUPS_STATE_H
#define KF_EXPORTER_GROUPS_STATE_H

#include "exporter/groups/groups.h"

/**
 * kf_state_lock() - lock the state file against other exporters
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
 * A missing file counts as empty.
 *
 * Context: once, before the first scan.
 * Return: 0, or -1 when it cannot be read; the reason was printed.
 */
int kf_state_load(struct kf_groups *g);

/**
 * kf_state_save() - save the groups durably
 * @g:		the groups, locked
 *
 * Context: any thread. Waits for the disk.
 * Return: 0, or -1 with errno and the saved state unchanged.
 */
int kf_state_save(struct kf_groups *g);

#endif
