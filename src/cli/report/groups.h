/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks by thread, function and size, for the views top and leaks.
 */
#ifndef KF_CLI_REPORT_GROUPS_H
#define KF_CLI_REPORT_GROUPS_H

#include "cli/report/report.h"

/*
 * With more groups than this, sizes are merged by powers of two; with twice as
 * many, threads are merged too.
 */
#define KF_GROUPS_FINE 20000

/* An entry of the map. */
struct kf_group_sums {
	uint64_t key;
	uint64_t allocs;
	uint64_t allocated;
	uint64_t live_blocks;
	uint64_t live;
	uint64_t oldest; /* time of the oldest live block, ns */
};

/**
 * kf_group_of() - the sums of a block's group
 * @groups:	a map of struct kf_group_sums
 * @b:		the block
 *
 * Return: the sums; valid until the next call.
 */
struct kf_group_sums *kf_group_of(struct kf_map *groups,
				  const struct kf_block *b);

/**
 * kf_group_live() - add a live block to its group
 * @groups:	the map
 * @b:		the block
 */
void kf_group_live(struct kf_map *groups, const struct kf_block *b);

/**
 * kf_group_thread() - the thread of a group
 * @g:		the group
 *
 * Return: its index.
 */
uint32_t kf_group_thread(const struct kf_group_sums *g);

/**
 * kf_group_function() - the function of a group
 * @g:		the group
 *
 * Return: its name.
 */
const char *kf_group_function(const struct kf_group_sums *g);

/**
 * kf_group_size() - the size of a group's blocks
 * @g:		the group
 *
 * Return: bytes; the largest size if several are merged.
 */
uint64_t kf_group_size(const struct kf_group_sums *g);

/* A view that has a row for each group. */
struct kf_group_view {
	struct kf_map *groups;
	const struct kf_column *columns;
	size_t nr_columns;
	bool by_live; /* sort by live bytes, else by allocated bytes */
	void (*add_row)(const struct kf_report *r, struct kf_table *t,
			const struct kf_group_sums *g);
};

/**
 * kf_group_view_end() - add the live blocks to their groups, and print the
 *			groups
 * @r:		the report; with --from only blocks allocated since then count
 * @view:	the columns and the order
 *
 * Return: the exit status.
 */
int kf_group_view_end(struct kf_report *r, const struct kf_group_view *view);

#endif
