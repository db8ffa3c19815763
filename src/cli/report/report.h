/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the parts of `konfiscator report` share.
 *
 * A view is one file, report/NAME.c, with one `const struct kf_view` at its
 * bottom: it gets every event of the recording once, and prints at the end. A
 * new view needs its line in views.def, its file in Makemodule.am, its section
 * in doc/konfiscator.1 and its test.
 */
#ifndef KF_CLI_REPORT_H
#define KF_CLI_REPORT_H

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/table.h"
#include "reader/replay.h"

#include <stdio.h>

/* The options that select events; see kf_replay_pick. */
struct kf_report_pick {
	uint64_t from; /* ns */
	uint64_t to;
	uint64_t min_size;
	uint64_t max_size;
	unsigned int kinds;
	const char *threads; /* ids and globs with commas between, or NULL */
};

struct sockaddr_in;

struct kf_report {
	const struct kf_cli *cli;
	const struct kf_view *view;
	const char *path;		 /* the recording */
	const char *output;		 /* of -o, or NULL */
	const struct sockaddr_in *serve; /* of --serve, or NULL */
	size_t rows;			 /* of --rows; SIZE_MAX: all */
	bool rows_given;
	bool fail_on_leak; /* exit 1 if the view leaks has a row */
	struct kf_report_pick pick;
	struct kf_history history;
	struct kf_replay replay;
	FILE *out; /* the output of exports */
};

struct kf_view {
	const char *name;
	bool exports; /* an export of --export: writes events to @out */
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

/**
 * kf_report_leaks_status() - the exit status of the view leaks
 * @r:		the report
 * @bytes:	that are live
 * @error:	half of the interval of an estimate; 0: they were counted
 *
 * Return: KF_EXIT_FAILED, after a message, if there are any and --fail-on-leak
 *	   was given.
 */
int kf_report_leaks_status(const struct kf_report *r, uint64_t bytes,
			   uint64_t error);

/**
 * kf_report_open() - open the recording
 * @r:		the report; its @cli and @path are set
 * @foreign:	the message for a file that is not a recording
 *
 * Return: 0, or the exit status after a message.
 */
int kf_report_open(struct kf_report *r, const char *foreign);

/**
 * kf_report_tell_losses() - warn of events that the figures do not include
 * @r:		the report; the recording was read
 */
void kf_report_tell_losses(const struct kf_report *r);

/* A file in massif's format; initially all zero except @out. */
struct kf_massif {
	FILE *out;
	unsigned int snapshot;
};

/**
 * kf_massif_head() - begin massif's text
 * @m:		the file
 * @what:	the kind of the source, such as "recording"
 * @path:	the source file, escaped
 * @program:	the program, escaped
 */
void kf_massif_head(struct kf_massif *m, const char *what, const char *path,
		    const char *program);

/**
 * kf_massif_level() - write a snapshot
 * @m:		the file
 * @time_ns:	when it was
 * @live:	bytes
 * @held:	bytes held from the kernel, @live included
 * @tree:	"empty", "detailed" or "peak"; the caller writes the tree of the
 *		latter two
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
 * kf_plot_is_picture() - whether a file name has the suffix of a picture
 * @path:	the file
 *
 * Return: whether.
 */
bool kf_plot_is_picture(const char *path);

/**
 * kf_plot_text() - write text, quoted for gnuplot
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
 * kf_report_option() - parse an option that selects events
 * @p:		where to put it
 * @key:	of enum kf_report_key
 * @arg:	its argument
 *
 * Return: 0, or the exit status after a message.
 */
int kf_report_option(struct kf_report_pick *p, int key, const char *arg);

/* Keys of the options that select events. */
enum kf_report_key {
	KF_PICK_FROM = KF_OPT_OWN,
	KF_PICK_TO,
	KF_PICK_THREAD,
	KF_PICK_FUNCTION,
	KF_PICK_SIZE,
	KF_PICK_END
};

/**
 * kf_report_thread_is_picked() - whether a thread is selected
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
 * @sort:	the sort column, or -1 to keep the order
 * @usual:	number of rows without --rows
 *
 * Return: the exit status.
 */
int kf_report_table(const struct kf_report *r, struct kf_table *t, int sort,
		    size_t usual);

/**
 * kf_progress() - show the progress of reading the recording
 * @r:		the report
 *
 * Updates a few times a second, if stderr is a terminal.
 */
void kf_progress(const struct kf_report *r);

/**
 * kf_progress_end() - remove the progress bar
 */
void kf_progress_end(void);

/* The number of buckets in memory, whatever the length of the recording. */
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

/*
 * Levels over time. The width of the buckets doubles when there are too many.
 */
struct kf_series {
	uint64_t from;	/* ns */
	uint64_t width; /* ns */
	size_t nr;
	struct kf_series_bucket bucket[KF_SERIES_MAX];
};

/**
 * kf_series_init() - begin a series
 * @s:		the series
 * @from:	the time at which the first bucket begins, ns
 * @held:	bytes held before that time
 */
void kf_series_init(struct kf_series *s, uint64_t from, uint64_t held);

/**
 * kf_series_step() - add an event
 * @s:		the series
 * @step:	the effect of the event
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
