/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rows of `konfiscator stat --by thread`.
 */
#ifndef KF_CLI_THREAD_TABLE_H
#define KF_CLI_THREAD_TABLE_H

#include "cli/group.h"
#include "cli/table.h"

/**
 * kf_thread_table() - a row for each thread heap
 * @t:		out: the table; kf_table_release() it
 * @cli:	selectors
 * @now:	the look
 * @then:	an earlier one for rates, or NULL: since the processes began
 *
 * The heap of threads that have none has a row only if it was used.
 */
void kf_thread_table(struct kf_table *t, const struct kf_cli *cli,
		     const struct kf_snapshots *now,
		     const struct kf_snapshots *then);

#endif
