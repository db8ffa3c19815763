/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator top: tables that are refreshed at an interval, on a screen with
 * keys (screen/screen.c) or as plain text.
 */
#ifndef KF_CLI_SCREEN_TOP_H
#define KF_CLI_SCREEN_TOP_H

#include "cli/group.h"
#include "cli/table.h"
#include "reader/estimate.h"

enum kf_top_views {
	KF_TOP_PROCESSES,
	KF_TOP_TAGS,
	KF_TOP_THREADS,
	KF_TOP_SITES,
	KF_TOP_SIZES,
	KF_TOP_VIEWS
};

struct kf_top_view {
	const char *name;
	const char *sort;  /* the default sort column, by its name in --sort */
	const char *empty; /* the message for a table without rows */
	/*
	 * Makes the table; rates are since @then, or since the processes began.
	 */
	void (*make)(struct kf_table *t, const struct kf_cli *cli,
		     const struct kf_snapshots *now,
		     const struct kf_snapshots *then);
};

extern const struct kf_top_view kf_top_views[KF_TOP_VIEWS];

/* A view, and the two latest snapshots. */
struct kf_top {
	const struct kf_cli *cli;
	double interval; /* seconds */
	size_t view;	 /* index in kf_top_views */
	int sort;	 /* sort column; below 0: the default */
	bool has_then;	 /* there is an earlier snapshot */
	struct kf_snapshots now;
	struct kf_snapshots then;
};

/**
 * kf_top_look() - take the next snapshot of the processes
 * @t:		the view and its snapshots
 *
 * Return: 0, or the exit status after a message, with the last snapshot kept.
 */
int kf_top_look(struct kf_top *t);

/**
 * kf_top_table() - the table of the view, sorted
 * @t:		the view and its snapshots
 * @table:	out: the table; kf_table_release() it
 *
 * Return: the column that it is sorted by.
 */
int kf_top_table(const struct kf_top *t, struct kf_table *table);

/**
 * kf_top_screen() - show views on the terminal until the user quits
 * @t:		the first view, and the first snapshot
 *
 * The terminal is restored when this returns, and when a signal ends the
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
		      const struct kf_snapshots *now,
		      const struct kf_snapshots *then);
void kf_top_sizes(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then);
void kf_top_sites(struct kf_table *t, const struct kf_cli *cli,
		  const struct kf_snapshots *now,
		  const struct kf_snapshots *then);

/**
 * kf_top_calls() - how many calls a stack has
 * @key:	of a stack in the table of kf_top_sites()
 *
 * Return: their number; 0 if its names are not known.
 */
size_t kf_top_calls(uint64_t key);

/**
 * kf_top_call() - a call of a stack
 * @key:	of the stack
 * @call:	below kf_top_calls(), the innermost is 0
 *
 * Return: the function, escaped, with file and line or the library if known.
 */
const char *kf_top_call(uint64_t key, size_t call);

/**
 * kf_top_stack_text() - the innermost calls of a stack in a line
 * @key:	of the stack
 *
 * Return: the text, escaped; "?" if it is not known.
 */
const char *kf_top_stack_text(uint64_t key);

/* A sampled stack that has live blocks. */
struct kf_top_stack {
	const struct kf_file *file;
	uint64_t key;
	struct kf_estimate live;
	double growth;	  /* bytes per second */
	double allocated; /* likewise */
};

typedef void kf_top_stack_fn(void *arg, const struct kf_top_stack *stack);

/**
 * kf_top_stacks() - call a function for each sampled stack with live blocks
 * @cli:	selectors
 * @now:	the look
 * @then:	an earlier one for rates, or NULL: since the processes began
 * @fn:		the function; the names of the stack are known then
 * @arg:	its first argument
 */
void kf_top_stacks(const struct kf_cli *cli, const struct kf_snapshots *now,
		   const struct kf_snapshots *then, kf_top_stack_fn *fn,
		   void *arg);

#endif
