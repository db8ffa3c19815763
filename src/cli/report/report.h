/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of `konfiscator report` share.
 *
 * A view is one file, report/NAME.c, with one `const struct kf_view` at its
 * bottom: it sees every event of the recording once, and prints in the end. A
 * new view needs its line in views.def, its file in Makemodule.am, its words in
 * doc/konfiscator.1 and its test.
 */
#ifndef KF_CLI_REPORT_H
#define KF_CLI_REPORT_H

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/table.h"
#include "reader/replay.h"

#include <stdio.h>

/* Which events were asked for; see kf_replay_pick. */
struct kf_report_pick {
	uint64_t from; /* ns */
	uint64_t to;
	uint64_t min_size;
	uint64_t max_size;
	unsigned int kinds;
	const char *threads; /* ids and globs with commas between, or NULL */
};

struct kf_report {
	const struct kf_cli *cli;
	const struct kf_view *view;
	const char *path;   /* the recording */
	const char *output; /* of -o, or NULL */
	size_t rows;	    /* of --rows; SIZE_MAX: all */
	bool rows_given;
	struct kf_report_pick pick;
	struct kf_history history;
	struct kf_replay replay;
	FILE *out; /* where exports go */
};

struct kf_view {
	const char *name;
	bool exports; /* writes events to @out; is asked for by --export */
	/* Before the first event; or NULL. */
	void (*begin)(struct kf_report *r);
	/* After each event that counts; or NULL. */
	void (*step)(struct kf_report *r, const struct kf_step *s);
	/* At the end: prints; returns the exit status. */
	int (*end)(struct kf_report *r);
	/* Instead of @end, with -o: writes gnuplot's commands; or NULL. */
	void (*draw)(struct kf_report *r, FILE *gnuplot);
	/* Frees what @begin made; or NULL. */
	void (*release)(void);
};

#define KF_VIEW(id) extern const struct kf_view kf_view_##id;
#include "cli/report/views.def"
#undef KF_VIEW

/* A file for ms_print; all zero but for @out at first. */
struct kf_massif {
	FILE *out;
	unsigned int snapshot;
};

/**
 * kf_massif_head() - begin massif's text
 * @m:		the file
 * @what:	what the figures are from, as "recording"
 * @path:	the file they are from, escaped
 * @program:	the program, escaped
 */
void kf_massif_head(struct kf_massif *m, const char *what, const char *path,
		    const char *program);

/**
 * kf_massif_level() - write a snapshot
 * @m:		the file
 * @time_ns:	when it was
 * @live:	bytes
 * @held:	bytes held from the kernel, with those
 * @tree:	"empty", "detailed" or "peak"; of the latter two the tree
 *		follows
 */
void kf_massif_level(struct kf_massif *m, uint64_t time_ns, uint64_t live,
		     uint64_t held, const char *tree);

/**
 * kf_plot() - draw a view into the file of -o
 * @r:		the report
 *
 * Return: the exit status.
 */
int kf_plot(struct kf_report *r);

/**
 * kf_plot_is_picture() - whether a file's suffix is that of a picture
 * @path:	the file
 *
 * Return: whether.
 */
bool kf_plot_is_picture(const char *path);

/**
 * kf_plot_text() - write text as gnuplot quotes it
 * @gnuplot:	where to
 * @text:	escaped first
 */
void kf_plot_text(FILE *gnuplot, const char *text);

/* A unit for an axis: values divided by @scale. */
struct kf_unit {
	const char *name;
	double scale;
};

/**
 * kf_unit_time() - a unit for times up to a longest
 * @ns:		the longest
 *
 * Return: the unit, of ns.
 */
struct kf_unit kf_unit_time(uint64_t ns);

/**
 * kf_unit_bytes() - a unit for sizes up to a largest
 * @bytes:	the largest
 *
 * Return: the unit, of bytes.
 */
struct kf_unit kf_unit_bytes(uint64_t bytes);

/**
 * kf_report_option() - take an option that picks events
 * @p:		where to put it
 * @key:	of enum kf_report_key
 * @arg:	its argument
 *
 * Return: 0, or the exit status after a message.
 */
int kf_report_option(struct kf_report_pick *p, int key, const char *arg);

/* Keys of the options that pick events. */
enum kf_report_key {
	KF_PICK_FROM = KF_OPT_OWN,
	KF_PICK_TO,
	KF_PICK_THREAD,
	KF_PICK_FUNCTION,
	KF_PICK_SIZE,
	KF_PICK_END
};

/**
 * kf_report_thread_is_picked() - whether a thread was asked for
 * @thread:	its index
 * @report:	the struct kf_report
 *
 * Return: whether.
 */
bool kf_report_thread_is_picked(uint32_t thread, void *report);

/**
 * kf_report_function() - the name of a kind of event
 * @kind:	of enum kf_record_kind
 *
 * Return: a constant string.
 */
const char *kf_report_function(unsigned int kind);

/**
 * kf_report_program() - the name of the program that was recorded
 * @r:		the report
 *
 * Return: the name, not escaped.
 */
const char *kf_report_program(const struct kf_report *r);

/**
 * kf_report_thread() - fill in the cells of a thread
 * @r:		the report
 * @thread:	its index
 * @name:	a text cell
 * @tid:	a count cell, or NULL
 */
void kf_report_thread(const struct kf_report *r, uint32_t thread,
		      struct kf_cell *name, struct kf_cell *tid);

/**
 * kf_report_table() - sort a table, cut it to --rows, print and release it
 * @r:		the report
 * @t:		the table
 * @sort:	the column that decides, or -1 to leave it
 * @usual:	rows, where --rows was not given
 *
 * Return: the exit status.
 */
int kf_report_table(const struct kf_report *r, struct kf_table *t, int sort,
		    size_t usual);

/**
 * kf_progress() - show how far the recording is read
 * @r:		the report
 *
 * Nothing unless stderr is a terminal, and then a few times a second.
 */
void kf_progress(const struct kf_report *r);

/**
 * kf_progress_end() - remove what kf_progress() showed
 */
void kf_progress_end(void);

/* As many are kept in memory, of whatever length of time each. */
#define KF_SERIES_MAX 2048

struct kf_series_bucket {
	bool any;
	uint64_t live; /* at its end */
	uint64_t live_max;
	uint64_t held; /* at its end */
	uint64_t blocks;
	uint64_t allocs;
	uint64_t frees;
	uint64_t allocated;
};

/* Levels over time: buckets that double their width when they are too many. */
struct kf_series {
	uint64_t from;	/* ns */
	uint64_t width; /* ns */
	size_t nr;
	struct kf_series_bucket bucket[KF_SERIES_MAX];
};

/**
 * kf_series_init() - begin
 * @s:		the series
 * @from:	when the first bucket begins, ns
 * @held:	what was held before it
 */
void kf_series_init(struct kf_series *s, uint64_t from, uint64_t held);

/**
 * kf_series_step() - take in an event
 * @s:		the series
 * @step:	what it did
 * @now:	the level after it
 */
void kf_series_step(struct kf_series *s, const struct kf_step *step,
		    const struct kf_replay_level *now);

/**
 * kf_series_finish() - give buckets without events the level before them
 * @s:		the series
 * @nr:		merge neighbours until there are at most so many
 */
void kf_series_finish(struct kf_series *s, size_t nr);

#endif
