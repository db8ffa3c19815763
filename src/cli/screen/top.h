/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator top: tables that are made anew by the look, on a screen with keys
 * (screen/screen.c) or as plain text.
 */
#ifndef KF_CLI_SCREEN_TOP_H
#define KF_CLI_SCREEN_TOP_H

#include "cli/group.h"
#include "cli/table.h"

#define KF_TOP_VIEWS 5

struct kf_top_view {
	const char *name;
	const char *sort;  /* the usual column, as --sort names it */
	const char *empty; /* what is said of a table without rows */
	/* Makes the table; rates are from @then on, or from the begin. */
	void (*make)(struct kf_table *t, const struct kf_cli *cli,
		     const struct kf_look *now, const struct kf_look *then);
};

extern const struct kf_top_view kf_top_views[KF_TOP_VIEWS];

/* One view of two looks at the processes. */
struct kf_top {
	const struct kf_cli *cli;
	double interval; /* seconds */
	size_t view;	 /* of kf_top_views */
	int sort;	 /* column of it; below 0: the usual one */
	bool has_then;	 /* there was a look before */
	struct kf_look now;
	struct kf_look then;
};

/**
 * kf_top_look() - look at the processes once more
 * @t:		the looks
 *
 * Return: 0, or the exit status after a message; the last look stays then.
 */
int kf_top_look(struct kf_top *t);

/**
 * kf_top_table() - the table of the view, sorted
 * @t:		the looks
 * @table:	out: the table; kf_table_release() it
 *
 * Return: the column that it is sorted by.
 */
int kf_top_table(const struct kf_top *t, struct kf_table *table);

/**
 * kf_top_screen() - show views on the terminal until the user has enough
 * @t:		the view to begin with, and the first look
 *
 * The terminal is as it was when this returns, and where a signal ends the
 * program.
 *
 * Context: stdin and stdout are a terminal.
 * Return: the exit status.
 */
int kf_top_screen(struct kf_top *t);

/**
 * kf_top_processes() - a row for each process
 * kf_top_sizes() - a row for each size class, over all processes
 * kf_top_sites() - a row for each sampled stack that has live blocks
 * @t:		out: the table; kf_table_release() it
 * @cli:	selectors
 * @now:	the look
 * @then:	an earlier one for rates, or NULL: since the processes began
 */
void kf_top_processes(struct kf_table *t, const struct kf_cli *cli,
		      const struct kf_look *now, const struct kf_look *then);
void kf_top_sizes(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_look *now, const struct kf_look *then);
void kf_top_sites(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_look *now, const struct kf_look *then);

#endif
