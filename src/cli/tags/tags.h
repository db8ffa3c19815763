/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The views of `konfiscator tags` that are tables.
 */
#ifndef KF_CLI_TAGS_H
#define KF_CLI_TAGS_H

#include "cli/table.h"
#include "cli/tags/set.h"

/**
 * kf_tags_flat_table() - the rows of kf_tags_flat(), the largest first
 * @t:		out: the table; kf_table_release() it
 * @set:	the tags
 */
void kf_tags_flat_table(struct kf_table *t, const struct kf_tag_set *set);

/**
 * kf_tags_flat() - a row for each name, wherever it is in the trees
 * @set:	the tags
 * @cli:	how to print
 */
void kf_tags_flat(const struct kf_tag_set *set, const struct kf_cli *cli);

/**
 * kf_tags_diff() - a row for each tag whose figures differ
 * @then:	the tags before
 * @now:	the tags after
 * @all:	rows without a difference too
 * @cli:	how to print
 *
 * Threads with the same name are merged.
 */
void kf_tags_diff(const struct kf_tag_set *then, const struct kf_tag_set *now,
		  bool all, const struct kf_cli *cli);

/**
 * kf_tags_stacks() - a row for each call stack of the tags that have them
 * @cli:	how to print
 * @path:	a stats file
 * @full:	include stacks without live blocks, and all calls of each stack
 *
 * Return: 0, or the exit status after a message.
 */
int kf_tags_stacks(const struct kf_cli *cli, const char *path, bool full);

#endif
