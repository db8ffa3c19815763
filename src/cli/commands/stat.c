/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator stat: what the heaps hold and how busy they are, in one table.
 *
 * The table has the columns of the manual; JSON, CSV and prom have every
 * counter that the files describe. A rate is the difference of two snapshots;
 * without -w it is the average since the start of the process.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/group.h"
#include "cli/table.h"
#include "cli/tags/table.h"
#include "cli/thread-table.h"
#include "reader/estimate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum by { BY_PROCESS, BY_PID, BY_THREAD, BY_CONTAINER, BY_TAG, NR_BY };

static const char *const by_names[NR_BY] = {
	[BY_PROCESS] = "process",     [BY_PID] = "pid", [BY_THREAD] = "thread",
	[BY_CONTAINER] = "container", [BY_TAG] = "tag",
};

static enum by stat_by;
static double stat_interval;
static const char *stat_sort = NULL;

enum {
	PID,
	PROCESS,
	CONTAINER,
	STATE,
	PROCS,
	THREADS,
	LIVE,
	HELD,
	FREE,
	ROUND,
	RSS,
	MALLOC_RATE,
	MMAP_RATE,
	FAIL,
	MALLOCS,
	FREES,
	LIVE_BLOCKS,
	ALLOCATED,
	FREED,
	ROUNDING_BYTES,
	CACHED_BYTES,
	BINS_BYTES,
	FREE_BYTES,
	METADATA_BYTES,
	SAMPLED,
	SAMPLE_ERROR,
	NR_BASE
};

/* The counters that the files describe follow, by their names. */
static const struct kf_column stat_columns[NR_BASE] = {
	[PID] = {NULL, NULL, KF_CELL_COUNT},
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[CONTAINER] = {"CONTAINER", "container", KF_CELL_TEXT},
	[STATE] = {NULL, "state", KF_CELL_TEXT},
	[PROCS] = {"PROCS", "processes", KF_CELL_COUNT, .spare = 3},
	[THREADS] = {"THREADS", NULL, KF_CELL_COUNT, .spare = 5},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[FREE] = {"FREE%", "free_percent", KF_CELL_PERCENT, .spare = 6},
	[ROUND] = {"ROUND%", "rounding_percent", KF_CELL_PERCENT, .spare = 2},
	[RSS] = {"RSS", "resident_bytes", KF_CELL_BYTES},
	[MALLOC_RATE] = {"MALLOC/s", "mallocs_per_second", KF_CELL_RATE},
	[MMAP_RATE] = {"MMAP/s", "mmaps_per_second", KF_CELL_RATE, .spare = 1},
	[FAIL] = {"FAIL", NULL, KF_CELL_COUNT, .spare = 4},
	[MALLOCS] = {NULL, "mallocs", KF_CELL_COUNT},
	[FREES] = {NULL, "frees", KF_CELL_COUNT},
	[LIVE_BLOCKS] = {NULL, "live_blocks", KF_CELL_COUNT},
	[ALLOCATED] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[FREED] = {NULL, "freed_bytes", KF_CELL_BYTES},
	[ROUNDING_BYTES] = {NULL, "rounding_bytes", KF_CELL_BYTES},
	[CACHED_BYTES] = {NULL, "cached_bytes", KF_CELL_BYTES},
	[BINS_BYTES] = {NULL, "bins_bytes", KF_CELL_BYTES},
	[FREE_BYTES] = {NULL, "free_bytes", KF_CELL_BYTES},
	[METADATA_BYTES] = {NULL, "metadata_bytes", KF_CELL_BYTES},
	[SAMPLED] = {NULL, NULL, KF_CELL_TEXT},
	[SAMPLE_ERROR] = {NULL, "sample_error_bytes", KF_CELL_BYTES},
};

static double stat_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void stat_add_totals(struct kf_cell *row, const struct kf_totals *t)
{
	row[LIVE].count = t->live;
	row[HELD].count = t->held;
	row[FREE].real = stat_percent(t->free, t->held);
	row[FREE].mark = row[FREE].real > 50 ? KF_MARK_WARN : KF_MARK_NONE;
	row[ROUND].real = stat_percent(t->rounding, t->held);
	row[MALLOCS].count = t->mallocs;
	row[FREES].count = t->frees;
	row[LIVE_BLOCKS].count = t->live_blocks;
	row[ALLOCATED].count = t->allocated;
	row[FREED].count = t->freed;
	row[ROUNDING_BYTES].count = t->rounding;
	row[CACHED_BYTES].count = t->cached;
	row[BINS_BYTES].count = t->bins;
	row[BINS_BYTES].none = !t->knows_bins;
	row[FREE_BYTES].count = t->free;
	row[METADATA_BYTES].count = t->metadata;
}

/*
 * The samples' estimate of live bytes with its interval; empty without samples.
 */
static void stat_add_samples(struct kf_cell *row, const struct kf_groups *g,
			     const struct kf_group *group)
{
	uint64_t live = kf_groups_value(g, group, "sample_live");
	uint64_t variance = kf_groups_value(g, group, "sample_variance");
	struct kf_estimate e = {.value = (double)live,
				.variance = (double)variance *
					    KF_STATS_VARIANCE_UNIT};
	char value[16], error[16], text[40] = "";

	row[SAMPLE_ERROR].count = (uint64_t)kf_estimate_error(e);
	if (kf_groups_value(g, group, "samples"))
		snprintf(text, sizeof(text), "%s+-%s",
			 kf_human_bytes(value, sizeof(value), live),
			 kf_human_bytes(error, sizeof(error),
					row[SAMPLE_ERROR].count));
	kf_cell_text(&row[SAMPLED], text);
}

static void stat_add_group(struct kf_table *t, const struct kf_groups *g,
			   const struct kf_group *group, bool people)
{
	struct kf_cell *row = kf_table_row(t);
	char id[13];

	snprintf(id, sizeof(id), "%.12s", group->container);
	kf_cell_text(&row[PROCESS], group->name);
	kf_cell_text(&row[CONTAINER], people ? id : group->container);
	kf_cell_text(&row[STATE], group->state);
	row[PID].count = (uint64_t)group->pid;
	row[PROCS].count = group->nr_processes;
	row[THREADS].count = kf_groups_value(g, group, "threads");
	row[RSS].count = group->resident;
	row[RSS].none = !group->resident;
	row[MALLOC_RATE].real = group->malloc_rate;
	row[MMAP_RATE].real = group->mmap_rate;
	row[FAIL].count = kf_groups_value(g, group, "failed");
	row[FAIL].mark = row[FAIL].count ? KF_MARK_BAD : KF_MARK_NONE;
	stat_add_totals(row, &group->totals);
	stat_add_samples(row, g, group);
	for (unsigned int i = 0; i < g->nr_counters; i++)
		row[NR_BASE + i].count = group->values[i];
}

static struct kf_column *make_columns(const struct kf_groups *g,
				      const struct kf_cli *cli)
{
	struct kf_column *columns =
		kf_alloc(NR_BASE + g->nr_counters, sizeof(*columns));

	memcpy(columns, stat_columns, sizeof(stat_columns));
	if (cli->select.all)
		columns[STATE].head = "STATE";
	for (unsigned int i = 0; i < g->nr; i++) {
		if (kf_groups_value(g, &g->group[i], "samples"))
			columns[SAMPLED].head = "SAMPLED";
	}
	if (stat_by == BY_PID) {
		columns[PID].head = "PID";
		columns[PID].key = "pid";
		columns[PROCS].head = NULL;
		columns[PROCS].key = NULL;
	}
	if (stat_by == BY_CONTAINER) {
		columns[PROCESS].head = NULL;
		columns[PROCESS].key = NULL;
	}
	for (unsigned int i = 0; i < g->nr_counters; i++) {
		columns[NR_BASE + i].key = g->counters[i]->name;
		columns[NR_BASE + i].kind = KF_CELL_COUNT;
	}
	return columns;
}

static int sort_table(struct kf_table *t, const char *usual)
{
	const char *name = stat_sort ? stat_sort : usual;
	int column = kf_table_column(t, name);
	char *names;

	if (column >= 0) {
		kf_table_sort(t, column);
		return 0;
	}
	names = kf_table_column_names(t);
	kf_error("stat: --sort: '%s' is not one of %s", name, names);
	free(names);
	return KF_EXIT_USAGE;
}

static int print_groups(const struct kf_cli *cli, const struct kf_groups *g)
{
	struct kf_column *columns = make_columns(g, cli);
	struct kf_table t;
	int status;

	kf_table_init(&t, columns, NR_BASE + g->nr_counters);
	for (unsigned int i = 0; i < g->nr; i++)
		stat_add_group(&t, g, &g->group[i],
			       cli->format == KF_FORMAT_TABLE);
	status = sort_table(&t, "held");
	if (!status && cli->format == KF_FORMAT_PROM)
		kf_groups_prom(g);
	else if (!status)
		kf_table_print(&t, cli);
	if (!status && !g->nr)
		status = KF_EXIT_NO_MATCH;
	kf_table_release(&t);
	free(columns);
	return status;
}

/* Sorts a table by --sort or @usual, prints and releases it. */
static int print_made(const struct kf_cli *cli, struct kf_table *t,
		      const char *usual)
{
	int status = sort_table(t, usual);

	if (!status)
		kf_table_print(t, cli);
	if (!status && !t->nr_rows)
		status = KF_EXIT_NO_MATCH;
	kf_table_release(t);
	return status;
}

/* Warns of files that are not in the table. */
static void note_others(const struct kf_cli *cli, const struct kf_files *files)
{
	unsigned int nr_bad = 0, nr_unknown = 0;

	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];

		if (f->snap.result != KF_READ_OK) {
			nr_bad++;
			if (cli->verbose)
				kf_note(cli, "stat: %s/%s: %s", f->dir, f->name,
					kf_read_result_name(f->snap.result));
		} else if (f->life == KF_LIFE_UNKNOWN && !cli->select.all) {
			nr_unknown++;
		}
	}
	if (nr_bad)
		kf_note(cli,
			"stat: %u file%s could not be read: see konfiscator ls",
			nr_bad, nr_bad == 1 ? "" : "s");
	if (nr_unknown)
		kf_note(cli,
			"stat: %u file%s of processes that cannot be seen from here: -a includes them",
			nr_unknown, nr_unknown == 1 ? "" : "s");
}

static int print_look(const struct kf_cli *cli, const struct kf_snapshots *now,
		      const struct kf_snapshots *then)
{
	struct kf_groups g;
	struct kf_table t;
	int status;

	if (stat_by == BY_THREAD) {
		kf_thread_table(&t, cli, now, then);
		return print_made(cli, &t, "allocated");
	}
	if (stat_by == BY_TAG) {
		kf_tag_table(&t, cli, now, then);
		return print_made(cli, &t, "live");
	}
	kf_groups_make(&g, cli, now, then,
		       stat_by == BY_PID	 ? KF_GROUPS_BY_PID
		       : stat_by == BY_CONTAINER ? KF_GROUPS_BY_CONTAINER
						 : KF_GROUPS_BY_NAME);
	status = print_groups(cli, &g);
	kf_groups_release(&g);
	return status;
}

static void stat_wait(void)
{
	struct timespec ts = {.tv_sec = (time_t)stat_interval};

	ts.tv_nsec = (long)((stat_interval - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Repeats until a signal arrives or stdout is closed. */
static int stat_watch(const struct kf_cli *cli, struct kf_snapshots *then)
{
	struct kf_snapshots now;
	int status;

	for (;;) {
		stat_wait();
		status = kf_snapshots_take(&now, cli);
		if (status)
			return status;
		if (cli->format == KF_FORMAT_TABLE && !cli->no_header)
			putchar('\n');
		print_look(cli, &now, then);
		kf_files_release(&then->files);
		*then = now;
		if (fflush(stdout) || ferror(stdout)) {
			kf_error("stdout: %s", strerror(errno));
			return KF_EXIT_FAILED;
		}
	}
}

static int stat_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_snapshots look;
	int status;

	if (stat_by != BY_PROCESS && stat_by != BY_CONTAINER &&
	    cli->format == KF_FORMAT_PROM) {
		kf_error("stat: --by %s cannot be combined with --format=prom",
			 by_names[stat_by]);
		return KF_EXIT_USAGE;
	}
	cli->tables = stat_by == BY_TAG ? KF_TABLE_TAGS : 0;
	status = kf_snapshots_take(&look, cli);
	if (status)
		return status;
	note_others(cli, &look.files);
	status = print_look(cli, &look, NULL);
	if (stat_interval > 0 &&
	    (status == KF_EXIT_OK || status == KF_EXIT_NO_MATCH)) {
		fflush(stdout);
		status = stat_watch(cli, &look);
	} else if (status == KF_EXIT_NO_MATCH && kf_select_any(&cli->select)) {
		kf_select_tell_none(cli, &look.files);
	} else if (status == KF_EXIT_NO_MATCH) {
		kf_note(cli, "stat: no %s under konfiscator%s",
			stat_by == BY_TAG ? "tagged process" : "process",
			kf_select_hint(cli));
	}
	kf_files_release(&look.files);
	return status;
}

static int take_by(const char *arg)
{
	for (int i = 0; i < NR_BY; i++) {
		if (!strcmp(arg, by_names[i])) {
			stat_by = (enum by)i;
			return 0;
		}
	}
	kf_error(
		"stat: --by: '%s' is not process, pid, thread, container or tag",
		arg);
	return KF_EXIT_USAGE;
}

enum { OPT_BY = KF_OPT_OWN, OPT_SORT };

static int stat_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case 'w':
		return kf_take_seconds("stat: --watch", arg, &stat_interval);
	case OPT_BY:
		return take_by(arg);
	default:
		stat_sort = arg;
		return 0;
	}
}

static const struct kf_option stat_options[] = {
	{'w', "watch", "SEC",
	 "print every SEC seconds, with the rates of that interval"},
	{OPT_BY, "by", "process|pid|thread|container|tag",
	 "print a row for each of these (default: each process name)"},
	{OPT_SORT, "sort", "COLUMN",
	 "sort by COLUMN, in lower case (default held; of threads allocated, of tags live)"},
	{0},
};

const struct kf_command kf_command_stat = {
	.name = "stat",
	.args = "[PID|FILE...]",
	.help = "Show the memory and the activity of heaps",
	.about =
		"Processes of one name share a row. LIVE is the bytes that the programs asked for\n"
		"and have not freed, HELD the bytes that the heap has from the kernel. FREE% of\n"
		"HELD is free pages, ROUND% is the difference between the sizes of blocks and\n"
		"the sizes asked for. Without -w, rates are averages since the processes began.",
	.examples =
		"  konfiscator stat -w 1                   all processes, every second\n"
		"  konfiscator stat --by=thread 4711       the threads of a process",
	.options = stat_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV |
		   KF_FORMAT_PROM,
	.selects = true,
	.selects_files = true,
	.selects_ended = true,
	.option = stat_option,
	.run = stat_run,
};
