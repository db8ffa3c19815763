/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rows of `konfiscator stat --by tag`.
 */
#ifndef KF_CLI_TAGS_TABLE_H
#define KF_CLI_TAGS_TABLE_H

#include "cli/group.h"
#include "cli/table.h"

/**
 * kf_tag_table() - a row for each tag of the processes of one name
 * @t:		out: the table; kf_table_release() it
 * @cli:	selectors
 * @now:	the look, with KF_TABLE_TAGS
 * @then:	an earlier one for rates, or NULL: since the processes began
 */
void kf_tag_table(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then);

#endif
