/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page of konfiscator diff: a flame graph of both profiles, and a table of
 * what differs.
 */
#ifndef KF_CLI_COMMANDS_DIFF_H
#define KF_CLI_COMMANDS_DIFF_H

#include "cli/profile/graph.h"

/* Stacks that read alike, of both profiles. */
struct kf_diff_place {
	char *name;
	struct kf_estimate before;
	struct kf_estimate after;
	uint64_t samples; /* of both */
	bool differs;	  /* by more than chance */
};

struct kf_diff_page {
	enum kf_metric metric;
	struct kf_graph graph;
	char *about[2]; /* the profiles, before and after */
};

/**
 * kf_diff_page_add() - add a profile to a page
 * @page:	the page, zero but for its metric at first
 * @prof:	the profile, open
 * @is_after:	whether it is the second one
 */
void kf_diff_page_add(struct kf_diff_page *page, const struct kf_prof *prof,
		      bool is_after);

/**
 * kf_diff_page_write() - write a page
 * @page:	the page, with both profiles
 * @place:	what differs, in the order of the table
 * @nr:		number of @place
 * @output:	path of the file
 *
 * Return: the exit status, after a message if it is not 0.
 */
int kf_diff_page_write(struct kf_diff_page *page,
		       const struct kf_diff_place *place, size_t nr,
		       const char *output);

/**
 * kf_diff_page_release() - free what a page holds
 * @page:	the page; zero but for its metric then
 */
void kf_diff_page_release(struct kf_diff_page *page);

#endif
