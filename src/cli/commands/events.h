/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The latest slow-path events of a process, as rows.
 */
#ifndef KF_CLI_COMMANDS_EVENTS_H
#define KF_CLI_COMMANDS_EVENTS_H

#include "cli/table.h"

/**
 * kf_events_last() - a row for each of the last events
 * @t:		out: the table; kf_table_release() it
 * @cli:	the format
 * @s:		the snapshot, with KF_TABLE_EVENTS
 * @most:	of them
 */
void kf_events_last(struct kf_table *t, const struct kf_cli *cli,
		    const struct kf_snapshot *s, uint32_t most);

#endif
