/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator top: which processes, tags, threads, sites and sizes have and
 * allocate memory, refreshed at an interval. On a terminal it is a screen with
 * keys; elsewhere, and with --batch, it prints plain tables.
 */
#include "config.h"

#include "base/text.h"
#include "cli/tags/table.h"
#include "cli/thread-table.h"
#include "cli/screen/top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct kf_top top_state = {.interval = 2, .sort = -1};
static uint64_t top_batches;
static const char *sort_name;

const struct kf_top_view kf_top_views[KF_TOP_VIEWS] = {
	[KF_TOP_PROCESSES] = {"processes", "live",
			      "no process runs under konfiscator",
			      kf_top_processes},
	[KF_TOP_TAGS] = {"tags", "live", "no process has tags", kf_tag_table},
	[KF_TOP_THREADS] = {"threads", "allocated",
			    "no process runs under konfiscator",
			    kf_thread_table},
	[KF_TOP_SITES] = {"sites", "live",
			  "there are no samples yet: konfiscator ctl PID "
			  "sample=64K takes more",
			  kf_top_sites},
	[KF_TOP_SIZES] = {"sizes", "live", "no process runs under konfiscator",
			  kf_top_sizes},
};

int kf_top_look(struct kf_top *t)
{
	struct kf_snapshots look;
	int status = kf_snapshots_take(&look, t->cli);

	if (status)
		return status;
	if (t->has_then)
		kf_files_release(&t->then.files);
	t->has_then = t->now.time_ns != 0;
	t->then = t->now;
	t->now = look;
	return 0;
}

int kf_top_table(const struct kf_top *t, struct kf_table *table)
{
	const struct kf_top_view *view = &kf_top_views[t->view];
	int column = t->sort;

	view->make(table, t->cli, &t->now, t->has_then ? &t->then : NULL);
	if (column < 0)
		column = kf_table_column(table, view->sort);
	kf_table_sort(table, column);
	return column;
}

/* The column of --sort; each view has its own names. */
static int find_sort(void)
{
	struct kf_table t;
	char *names;

	if (!sort_name)
		return 0;
	kf_top_table(&top_state, &t);
	top_state.sort = kf_table_column(&t, sort_name);
	names = kf_table_column_names(&t);
	if (top_state.sort < 0)
		kf_error("top: --sort: '%s' is not one of %s", sort_name,
			 names);
	free(names);
	kf_table_release(&t);
	return top_state.sort < 0 ? KF_EXIT_USAGE : 0;
}

static int top_print(void)
{
	char when[32];
	struct kf_table t;
	time_t now = (time_t)(top_state.now.time_ns / 1000000000);
	struct tm tm;
	int status = KF_EXIT_OK;

	kf_top_table(&top_state, &t);
	if (!top_state.cli->no_header) {
		gmtime_r(&now, &tm);
		strftime(when, sizeof(when), "%FT%TZ", &tm);
		printf("%s at %s\n", kf_top_views[top_state.view].name, when);
	}
	if (t.nr_rows)
		kf_table_print(&t, top_state.cli);
	else
		status = KF_EXIT_NO_MATCH;
	kf_table_release(&t);
	if (fflush(stdout) || ferror(stdout)) {
		kf_error("stdout: %s", strerror(errno));
		status = KF_EXIT_FAILED;
	}
	return status;
}

static void top_wait(void)
{
	double whole, fraction = modf(top_state.interval, &whole);
	struct timespec ts = {.tv_sec = (time_t)whole};

	ts.tv_nsec = (long)(fraction * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int run_batch(void)
{
	int status = top_print();

	for (uint64_t i = 1; i < top_batches && status != KF_EXIT_FAILED; i++) {
		top_wait();
		status = kf_top_look(&top_state);
		if (status)
			return status;
		if (!top_state.cli->no_header)
			putchar('\n');
		status = top_print();
	}
	if (status == KF_EXIT_NO_MATCH)
		kf_note(top_state.cli, "top: %s",
			kf_top_views[top_state.view].empty);
	return status;
}

/* The screen needs a terminal that can move its cursor. */
static bool has_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(0) && isatty(1) && term && term[0] &&
	       strcmp(term, "dumb") != 0;
}

static int top_run(struct kf_cli *cli, int argc, char **argv)
{
	int status;

	top_state.cli = cli;
	cli->tables = KF_TABLE_TAGS | KF_TABLE_STACKS;
	status = kf_top_look(&top_state);
	if (!status)
		status = find_sort();
	if (!status && !top_batches && has_screen())
		status = kf_top_screen(&top_state);
	else if (!status)
		status = run_batch();
	kf_files_release(&top_state.now.files);
	if (top_state.has_then)
		kf_files_release(&top_state.then.files);
	return status;
}

static int top_take_view(const char *arg)
{
	char *names, *more;

	for (size_t i = 0; i < KF_TOP_VIEWS; i++) {
		if (!strcmp(kf_top_views[i].name, arg)) {
			top_state.view = i;
			return 0;
		}
	}
	names = kf_format("%s", kf_top_views[0].name);
	for (size_t i = 1; i < KF_TOP_VIEWS; i++) {
		more = kf_format("%s, %s", names, kf_top_views[i].name);
		free(names);
		names = more;
	}
	kf_error("top: --view: '%s' is not one of %s", arg, names);
	free(names);
	return KF_EXIT_USAGE;
}

static int take_batch(const char *arg)
{
	if (kf_parse_u64(arg, &top_batches) && top_batches &&
	    top_batches <= 1000000000)
		return 0;
	kf_error("top: --batch: '%s' is not a number from 1 to 1000000000",
		 arg);
	return KF_EXIT_USAGE;
}

enum { OPT_VIEW = KF_OPT_OWN, OPT_SORT, OPT_BATCH };

static int top_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_VIEW:
		return top_take_view(arg);
	case OPT_BATCH:
		return take_batch(arg);
	case OPT_SORT:
		sort_name = arg;
		return 0;
	default:
		return kf_take_seconds("top: --interval", arg,
				       &top_state.interval);
	}
}

static const struct kf_option top_options[] = {
	{'i', "interval", "SEC", "refresh every SEC seconds (default 2)"},
	{OPT_VIEW, "view", "processes|tags|threads|sites|sizes",
	 "start with this view (default processes)"},
	{OPT_SORT, "sort", "COLUMN",
	 "sort by COLUMN, in lower case (default live; of threads allocated)"},
	{OPT_BATCH, "batch", "N", "print N plain tables and exit"},
	{0},
};

const struct kf_command kf_command_top = {
	.name = "top",
	.args = "[PID|FILE...]",
	.help = "Show processes, tags, threads, sites and sizes on a live screen",
	.about =
		"Keys: 1 to 5 and Tab change the view, < and > the sort column; r reverses the\n"
		"order; arrows select a row, Enter opens it (a process: its sites; a site: its\n"
		"stack), Esc goes back; / filters rows by a text, t shows processes as a tree and\n"
		"sites as a tree of calls, space pauses, h shows help, q quits. A mouse works too.\n"
		"When stdin or stdout is not a terminal, one plain table is printed.",
	.examples =
		"  konfiscator top                         all processes\n"
		"  konfiscator top --view=sites -p 4711    the call sites of one process",
	.options = top_options,
	.formats = KF_FORMAT_TABLE,
	.selects = true,
	.selects_files = true,
	.attaches = true,
	.stacks = true,
	.option = top_option,
	.run = top_run,
};
