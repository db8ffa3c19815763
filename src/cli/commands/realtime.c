/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator realtime: calls of malloc and its relatives by threads in
 * real-time mode, with the stacks that made them.
 */
#include "config.h"

#include "cli/one.h"
#include "cli/profile/profile.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLERS 16

enum { CALLS, FUNCTION, WHY, THREAD, STACK };

static const struct kf_column realtime_columns[] = {
	[CALLS] = {"CALLS", "calls", KF_CELL_COUNT},
	[FUNCTION] = {"FUNCTION", "function", KF_CELL_TEXT},
	[WHY] = {"WHY", "why", KF_CELL_TEXT},
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

static const struct kf_column realtime_thread_columns[] = {
	[CALLS] = {"CALLS", "calls", KF_CELL_COUNT},
	[FUNCTION] = {"THREAD", "thread", KF_CELL_TEXT},
};

/* By the number that the probe realtime_violation has. */
static const char *const realtime_functions[] = {
	"malloc", "calloc", "realloc", "aligned", "free",
};

/* By the bits of enum kf_realtime_why. */
static const char *const realtime_reasons[] = {
	"lock wait",
	"system call",
	"page fault",
};

/* In memory that the caller frees. */
static char *realtime_words(uint32_t tag)
{
	uint32_t why = tag >> KF_REALTIME_SHIFT;
	char *all = NULL;

	for (size_t i = 0; i < KF_ARRAY_SIZE(realtime_reasons); i++) {
		char *before = all;

		if (!(why & 1u << i))
			continue;
		all = kf_format("%s%s%s", before ? before : "",
				before ? ", " : "", realtime_reasons[i]);
		free(before);
	}
	return all ? all : kf_format("call");
}

static void realtime_add_row(struct kf_table *t, const struct kf_prof *prof,
			     const struct kf_site *site)
{
	unsigned int function = site->stack->tag & 7;
	char *stack = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
				      : kf_site_group(prof, site);
	char *why = realtime_words(site->stack->tag);
	struct kf_cell *row = kf_table_row(t);

	row[CALLS].count = site->now.samples;
	kf_cell_text(&row[FUNCTION],
		     function < KF_ARRAY_SIZE(realtime_functions)
			     ? realtime_functions[function]
			     : "?");
	kf_cell_text(&row[WHY], why);
	kf_cell_text(&row[THREAD], site->thread);
	kf_cell_text(&row[STACK], stack);
	free(why);
	free(stack);
}

static void realtime_join(struct kf_cell *to, const struct kf_cell *from)
{
	to[CALLS].count += from[CALLS].count;
}

static void realtime_threads(const struct kf_cli *cli,
			     const struct kf_table *stacks)
{
	const size_t columns = KF_ARRAY_SIZE(realtime_thread_columns);
	struct kf_table t;

	kf_table_init(&t, realtime_thread_columns, columns);
	for (size_t i = 0; i < stacks->nr_rows; i++) {
		const struct kf_cell *from =
			&stacks->cells[i * stacks->nr_columns];
		struct kf_cell *row = kf_table_row(&t);

		row[0].count = from[CALLS].count;
		kf_cell_text(&row[1], from[THREAD].text);
	}
	kf_table_merge(&t, (const int[]){1}, 1, realtime_join);
	kf_table_sort(&t, 0);
	kf_table_print(&t, cli);
	kf_table_release(&t);
	putchar('\n');
}

static void realtime_print(const struct kf_cli *cli, const struct kf_prof *prof,
			   uint64_t all)
{
	uint64_t shown = 0;
	struct kf_table t;

	kf_table_init(&t, realtime_columns, KF_ARRAY_SIZE(realtime_columns));
	for (size_t i = 0; i < prof->nr_sites; i++) {
		realtime_add_row(&t, prof, &prof->sites[i]);
		shown += prof->sites[i].now.samples;
	}
	kf_table_merge(&t, (const int[]){FUNCTION, WHY, THREAD, STACK}, 4,
		       realtime_join);
	kf_table_sort(&t, CALLS);
	if (cli->format == KF_FORMAT_TABLE && t.nr_rows)
		realtime_threads(cli, &t);
	kf_table_print(&t, cli);
	kf_table_release(&t);
	if (all > shown)
		kf_note(cli,
			"realtime: %" PRIu64
			" more calls have no stack: it could not be taken, or the table was full",
			all - shown);
}

static int realtime_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_prof prof = {.cli = cli,
			       .pick = {.at = -1, .realtime = true}};
	struct kf_one one;
	uint64_t all;
	char *path;
	int status;

	if (argc > 1) {
		kf_error("realtime: only one file can be given");
		return KF_EXIT_USAGE;
	}
	status = kf_one_find(cli, argc ? argv[0] : NULL, &one);
	if (status)
		return status;
	all = kf_snapshot_value(&one.file->snap, "realtime_calls");
	path = one.file->dir ? kf_format("%s/%s", one.file->dir, one.file->name)
			     : kf_format("%s", argv[0]);
	prof.path = path;
	status = kf_prof_open(&prof);
	if (!status)
		realtime_print(cli, &prof, all);
	if (!status && !all)
		kf_note(cli, "realtime: no thread in real-time mode made a "
			     "call that is counted");
	kf_prof_close(&prof);
	free(path);
	kf_one_release(&one);
	return status;
}

const struct kf_command kf_command_realtime = {
	.name = "realtime",
	.args = "[PID|FILE]",
	.help = "Show calls of malloc in real-time code with their stacks",
	.about =
		"Threads are in real-time mode between konf_realtime_enter() and\n"
		"konf_realtime_leave(), or if KONFISCATOR_REALTIME has their names. FILE is a\n"
		"stats file. Without FILE the options below select a process; -a includes\n"
		"processes that were killed.",
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.selects_ended = true,
	.stacks = true,
	.pages = true,
	.run = realtime_run,
};
