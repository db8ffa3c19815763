/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator explain: why a process has the memory that it has, as a verdict
 * and the numbers behind it. A running process is watched for a while; a
 * process that has ended is explained from its stats file.
 */
#include "config.h"

#include "cli/commands/explain.h"
#include "cli/group.h"
#include "cli/one.h"
#include "cli/profile/guards.h"
#include "cli/process.h"
#include "cli/state.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_PINNED = KF_OPT_OWN, OPT_MAP };

#define LOOKS_LEAST 17
#define LOOKS_EACH_SECOND 4

static double explain_seconds = 2;
static bool explain_wants_pinned;
static bool explain_wants_map;
static const char *file_name; /* FILE's last component, or NULL */

static bool explain_wants(const struct kf_cli *cli, const struct kf_file *f)
{
	if (file_name)
		return !strcmp(f->name, file_name);
	return kf_snapshots_wants(cli, f);
}

/* The processes that are explained; the first snapshot selects them. */
struct watches {
	struct kf_snapshots first, last;
	struct kf_watch *all;
	unsigned int nr;
	unsigned int alive; /* in the first snapshot */
};

/* Notes the bytes in use of each process; the large tables are not read. */
static void watches_note(struct watches *ws)
{
	for (unsigned int i = 0; i < ws->nr; i++) {
		struct kf_watch *w = &ws->all[i];
		struct kf_snapshot s;

		if (kf_snapshot_read(w->first->dirfd, w->first->name, &s) ==
		    KF_READ_OK)
			w->used[w->nr_used++] = kf_snapshot_used(&s);
		kf_snapshot_release(&s);
	}
}

static void note_last(struct kf_watch *w)
{
	w->used[w->nr_used++] = kf_snapshot_used(&w->last->snap);
}

/*
 * A process that ended meanwhile is explained from its file, or from the first
 * snapshot if the file is gone.
 */
static void watches_finish(struct watches *ws)
{
	double span = (double)(ws->last.time_ns - ws->first.time_ns) / 1e9;

	for (unsigned int i = 0; i < ws->nr; i++) {
		struct kf_watch *w = &ws->all[i];
		const struct kf_file *f =
			kf_snapshots_same(&ws->last, w->first);

		w->last = f ? f : w->first;
		if (f && f->life == KF_LIFE_ALIVE && explain_seconds > 0) {
			note_last(w);
			w->seconds = span;
		} else {
			w->first = w->last;
		}
	}
}

enum {
	PROCESS,
	PID,
	STATE,
	VERDICT,
	RESIDENT,
	OUTSIDE,
	LIVE,
	ROUNDING,
	EMPTY,
	BINS,
	DIRTY,
	UNUSED,
	METADATA,
	HELD,
	PEAK,
	LIMIT,
	HEADROOM,
	PRESSURES,
	GROWN,
	SECONDS,
	HISTORY,
	ALLOCATED,
	LIFE,
	GROWING,
	FILES,
	STACKS,
	SHARED,
	OTHERS,
	HUGE_PAGES,
	ABSENT,
	TABLES,
	SOCKETS,
	RUNTIME,
	WHY,
	NR_COLUMNS
};

static const struct kf_column explain_columns[NR_COLUMNS] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[STATE] = {"STATE", "state", KF_CELL_TEXT, .spare = 2},
	[VERDICT] = {"VERDICT", "verdict", KF_CELL_TEXT},
	[RESIDENT] = {"RSS", "resident_bytes", KF_CELL_BYTES},
	[OUTSIDE] = {"OUTSIDE", "outside_bytes", KF_CELL_BYTES},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[ROUNDING] = {NULL, "rounding_bytes", KF_CELL_BYTES},
	[EMPTY] = {"HALF-EMPTY", "half_empty_bytes", KF_CELL_BYTES},
	[BINS] = {NULL, "bins_bytes", KF_CELL_BYTES},
	[DIRTY] = {"DIRTY", "dirty_bytes", KF_CELL_BYTES, .spare = 1},
	[UNUSED] = {NULL, "unused_bytes", KF_CELL_BYTES},
	[METADATA] = {NULL, "metadata_bytes", KF_CELL_BYTES},
	[HELD] = {NULL, "held_bytes", KF_CELL_BYTES},
	[PEAK] = {NULL, "peak_held_bytes", KF_CELL_BYTES},
	[LIMIT] = {NULL, "limit_bytes", KF_CELL_BYTES},
	[HEADROOM] = {NULL, "headroom_bytes", KF_CELL_BYTES},
	[PRESSURES] = {NULL, "pressures", KF_CELL_COUNT},
	[GROWN] = {"GROWN", "grown_bytes", KF_CELL_SIGNED},
	[SECONDS] = {NULL, "watched_seconds", KF_CELL_SECONDS},
	[HISTORY] = {NULL, "history_seconds", KF_CELL_SECONDS},
	[ALLOCATED] = {NULL, "allocated_bytes", KF_CELL_BYTES},
	[LIFE] = {NULL, "life_seconds", KF_CELL_SECONDS},
	[GROWING] = {NULL, "growing_seconds", KF_CELL_SECONDS},
	[FILES] = {NULL, "files_bytes", KF_CELL_BYTES},
	[STACKS] = {NULL, "stacks_bytes", KF_CELL_BYTES},
	[SHARED] = {NULL, "shared_bytes", KF_CELL_BYTES},
	[OTHERS] = {NULL, "others_bytes", KF_CELL_BYTES},
	[HUGE_PAGES] = {NULL, "huge_pages_bytes", KF_CELL_BYTES},
	[ABSENT] = {NULL, "absent_bytes", KF_CELL_BYTES},
	[TABLES] = {NULL, "page_tables_bytes", KF_CELL_BYTES},
	[SOCKETS] = {NULL, "sockets_bytes", KF_CELL_BYTES},
	[RUNTIME] = {NULL, "runtime", KF_CELL_TEXT},
	[WHY] = {NULL, "why", KF_CELL_TEXT},
};

static void add_mapped(struct kf_cell *row, const struct kf_facts *f)
{
	row[FILES].count = f->files;
	row[STACKS].count = f->stacks;
	row[SHARED].count = f->shared;
	row[OTHERS].count = f->others;
	row[HUGE_PAGES].count = f->huge;
	row[ABSENT].count = f->absent;
	row[TABLES].count = f->tables;
	for (int i = FILES; i <= TABLES; i++)
		row[i].none = !f->mappings_known;
	row[SOCKETS].count = f->sockets;
	row[SOCKETS].none = !f->sockets_known;
}

static void add_facts(struct kf_cell *row, const struct kf_facts *f)
{
	row[RESIDENT].count = f->resident;
	row[OUTSIDE].count = f->outside;
	row[RESIDENT].none = row[OUTSIDE].none = !f->resident_known;
	row[LIVE].count = f->live;
	row[ROUNDING].count = f->rounding;
	row[EMPTY].count = f->half_empty;
	row[BINS].count = f->bins;
	row[BINS].none = !f->bins_known;
	row[DIRTY].count = f->dirty;
	row[UNUSED].count = f->unused;
	row[METADATA].count = f->metadata;
	row[HELD].count = f->held;
	row[PEAK].count = f->peak_held;
	row[PEAK].none = !f->peak_known;
	row[LIMIT].count = f->limit;
	row[HEADROOM].count = f->headroom;
	row[PRESSURES].count = f->pressures;
	row[LIMIT].none = row[HEADROOM].none = !f->limit;
	row[GROWN].count = (uint64_t)f->grown;
	row[SECONDS].real = f->seconds;
	row[SECONDS].none = !f->watched;
	row[HISTORY].real = f->seconds;
	row[HISTORY].none = !f->remembered;
	row[GROWN].none = !f->watched && !f->remembered;
	row[ALLOCATED].count = f->allocated;
	row[LIFE].real = f->life;
	row[GROWING].real = f->growing;
	row[LIFE].none = row[GROWING].none = !f->life_known;
	add_mapped(row, f);
}

static void explain_add_row(struct kf_table *t, const struct kf_file *f,
			    const struct kf_explained *e)
{
	struct kf_cell *row = kf_table_row(t);
	char name[KF_PROCESS_NAME];

	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(f);
	kf_cell_text(&row[STATE], kf_state_name(f));
	kf_cell_text(&row[VERDICT], kf_verdict_name(e->verdict));
	kf_cell_text(&row[RUNTIME], kf_explain_runtime(&e->facts));
	kf_cell_text(&row[WHY], e->why);
	add_facts(row, &e->facts);
}

static int print_one(const struct kf_cli *cli, const struct kf_watch *w)
{
	char name[KF_PROCESS_NAME], safe[4 * KF_PROCESS_NAME];
	struct kf_explained e;
	int status;

	kf_explain(w, &e);
	kf_process_name(w->last, name);
	kf_pager_start(cli);
	printf("%s (%d, %s): ", kf_escape(safe, sizeof(safe), name),
	       kf_process_id(w->last), kf_state_name(w->last));
	kf_explain_print_verdict(w, &e);
	kf_guards_print(cli, w->last);
	putchar('\n');
	kf_explain_print_parts(cli, &e);
	kf_explain_print_mappings(cli, w, &e.facts);
	status = kf_explain_print_rows(cli, w, e.verdict);
	if (!status && explain_wants_pinned)
		status = kf_explain_print_pinned(cli, w);
	if (!status && explain_wants_map)
		kf_explain_print_map(w);
	kf_explained_release(&e);
	return status;
}

int kf_explain_json(const struct kf_cli *cli, const struct kf_watch *w,
		    const struct kf_explained *e, json_t **o)
{
	struct kf_table t;
	json_t *rows;
	int status;
	bool few;

	kf_table_init(&t, explain_columns, NR_COLUMNS);
	explain_add_row(&t, w->last, e);
	rows = kf_table_json(&t);
	*o = json_incref(json_array_get(rows, 0));
	json_decref(rows);
	kf_table_release(&t);
	kf_explain_sizes(&t, w, e->verdict);
	json_object_set_new(*o, "sizes", kf_table_json(&t));
	kf_table_release(&t);
	status = kf_explain_stacks(&t, cli, w, e->verdict, &few);
	json_object_set_new(*o, "stacks", kf_table_json(&t));
	kf_table_release(&t);
	json_object_set_new(*o, "mappings", kf_explain_json_mappings(cli, w));
	return status;
}

static int json_one(const struct kf_cli *cli, const struct kf_watch *w,
		    json_t *all)
{
	struct kf_explained e;
	json_t *o;
	int status;

	kf_explain(w, &e);
	status = kf_explain_json(cli, w, &e, &o);
	json_object_set_new(o, "guard_reports", kf_guards_json(cli, w->last));
	if (!status && explain_wants_pinned)
		status = kf_explain_json_pinned(cli, w, o);
	if (!status && explain_wants_map)
		kf_explain_json_map(w, o);
	json_array_append_new(all, o);
	kf_explained_release(&e);
	return status;
}

static int explain_print_json(const struct kf_cli *cli,
			      const struct kf_watch *w, unsigned int nr)
{
	json_t *all = json_array();
	int status = 0;

	kf_pager_start(cli);
	for (unsigned int i = 0; i < nr && !status; i++)
		status = json_one(cli, &w[i], all);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(all);
	return status;
}

static int print_all(const struct kf_cli *cli, const struct kf_watch *w,
		     unsigned int nr)
{
	struct kf_explained e;
	struct kf_table t;

	if (cli->format == KF_FORMAT_JSON)
		return explain_print_json(cli, w, nr);
	if (nr == 1 && cli->format == KF_FORMAT_TABLE)
		return print_one(cli, w);
	kf_table_init(&t, explain_columns, NR_COLUMNS);
	for (unsigned int i = 0; i < nr; i++) {
		kf_explain(&w[i], &e);
		explain_add_row(&t, w[i].last, &e);
		kf_explained_release(&e);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
	return KF_EXIT_OK;
}

/* Sleeps until @after seconds after @ts of CLOCK_MONOTONIC. */
static void wait_until(struct timespec ts, double after)
{
	double fraction, whole;

	fraction = modf(after + (double)ts.tv_nsec / 1e9, &whole);
	ts.tv_sec += (time_t)whole;
	ts.tv_nsec = (long)(fraction * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

/* The processes to watch: those that the first snapshot has. */
static void watches_choose(const struct kf_cli *cli, struct watches *ws)
{
	const struct kf_files *files = &ws->first.files;

	ws->all = kf_alloc(files->nr + 1u, sizeof(*ws->all));
	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];

		if (!explain_wants(cli, f))
			continue;
		ws->all[ws->nr++] = (struct kf_watch){.first = f, .last = f};
		ws->alive += f->life == KF_LIFE_ALIVE;
	}
}

/* A file named on the command line must exist and be a valid stats file. */
static int check_file(const struct kf_snapshots *look, const char *path)
{
	for (unsigned int i = 0; i < look->files.nr; i++) {
		const struct kf_file *f = &look->files.file[i];

		if (strcmp(f->name, file_name) != 0)
			continue;
		if (f->snap.result == KF_READ_OK)
			return 0;
		return kf_refuse_file("explain", path, &f->snap);
	}
	kf_error("explain: %s: no such file", path);
	return KF_EXIT_FAILED;
}

static unsigned int looks_in(double time)
{
	if (time * LOOKS_EACH_SECOND >= KF_WATCH_LOOKS)
		return KF_WATCH_LOOKS;
	return KF_MAX((unsigned int)LOOKS_LEAST,
		      (unsigned int)(time * LOOKS_EACH_SECOND));
}

static int explain_watch(const struct kf_cli *cli, struct watches *ws)
{
	unsigned int nr = looks_in(explain_seconds);
	struct timespec begin;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned int i = 0; i < nr - 1; i++) {
		wait_until(begin, explain_seconds * i / (nr - 1));
		watches_note(ws);
	}
	wait_until(begin, explain_seconds);
	status = kf_snapshots_take(&ws->last, cli);
	watches_finish(ws);
	return status;
}

/* What is added of one process has no place in the rows of several. */
static int explain_refuse(const struct kf_cli *cli, unsigned int nr)
{
	const char *option = explain_wants_map	    ? "map"
			     : explain_wants_pinned ? "pinned"
						    : NULL;

	if (!option || cli->format == KF_FORMAT_JSON)
		return 0;
	if (cli->format == KF_FORMAT_TABLE && nr < 2)
		return 0;
	if (cli->format == KF_FORMAT_CSV)
		kf_error("explain: --%s has no form in csv: use --format=json",
			 option);
	else
		kf_error("explain: --%s shows one process, but %u match: "
			 "select one with -p PID, or use --format=json",
			 option, nr);
	return KF_EXIT_USAGE;
}

static int explain_order(const struct kf_cli *cli, const struct kf_file *f)
{
	int status = 0;

	if (explain_wants_pinned)
		status = kf_explain_order(cli, f, "pinned=now",
					  "report what its blocks pin");
	if (!status && explain_wants_map)
		status = kf_explain_order(cli, f, "map=now", "map its heap");
	return status;
}

static int look_on(const struct kf_cli *cli, struct watches *ws,
		   const char *path)
{
	int status = kf_snapshots_take(&ws->first, cli);

	if (!status && path)
		status = check_file(&ws->first, path);
	if (status)
		return status;
	watches_choose(cli, ws);
	if (!ws->nr) {
		if (kf_select_any(&cli->select))
			kf_select_tell_none(cli, &ws->first.files);
		else
			kf_note(cli, "explain: no process under konfiscator%s",
				kf_select_hint(cli));
		return KF_EXIT_NO_MATCH;
	}
	status = explain_refuse(cli, ws->nr);
	if (status)
		return status;
	for (unsigned int i = 0; i < ws->nr; i++)
		status |= explain_order(cli, ws->all[i].first);
	if (status)
		return status;
	if (ws->alive &&
	    (explain_seconds > 0 || explain_wants_pinned || explain_wants_map))
		status = explain_watch(cli, ws);
	return status ? status : print_all(cli, ws->all, ws->nr);
}

static int run_with(const struct kf_cli *cli, const char *path)
{
	struct watches ws = {0};
	int status = look_on(cli, &ws, path);

	free(ws.all);
	kf_files_release(&ws.first.files);
	kf_files_release(&ws.last.files);
	return status;
}

static int explain_run(struct kf_cli *cli, int argc, char **argv)
{
	const char *slash, *path = argc ? argv[0] : NULL;
	const char *dirs[2] = {NULL, NULL}, **others = cli->dirs;
	char *dir;
	int status;

	if (argc > 1 || (argc && kf_select_any(&cli->select))) {
		kf_error("explain: %s",
			 argc > 1
				 ? "only one file can be given"
				 : "give a file or select a process, not both");
		return KF_EXIT_USAGE;
	}
	cli->tables = KF_TABLE_STACKS | KF_TABLE_MOMENTS | KF_TABLE_REPORTS |
		      KF_TABLE_MAPPINGS;
	if (explain_wants_pinned)
		cli->tables |= KF_TABLE_AGES | KF_TABLE_TAGS;
	if (explain_wants_map)
		cli->tables |= KF_TABLE_MAP;
	if (!path)
		return run_with(cli, NULL);
	slash = strrchr(path, '/');
	dir = slash ? kf_format("%.*s", (int)(slash - path + 1), path)
		    : kf_format(".");
	file_name = slash ? slash + 1 : path;
	dirs[0] = dir;
	cli->dirs = dirs;
	status = run_with(cli, path);
	cli->dirs = others;
	free(dir);
	return status;
}

static int explain_option(struct kf_cli *cli, int key, const char *arg)
{
	if (key == OPT_PINNED) {
		explain_wants_pinned = true;
		return 0;
	}
	if (key == OPT_MAP) {
		explain_wants_map = true;
		return 0;
	}
	if (!strcmp(arg, "0")) {
		explain_seconds = 0;
		return 0;
	}
	return kf_take_seconds("explain: --watch", arg, &explain_seconds);
}

static const struct kf_option explain_options[] = {
	{'w', "watch", "SEC",
	 "watch for SEC seconds to see what grows (default 2; 0 takes one snapshot)"},
	{OPT_PINNED, "pinned", NULL,
	 "ask the process which tags and sampled stacks have the blocks that keep half-empty slabs"},
	{OPT_MAP, "map", NULL,
	 "ask the process how full each stretch of its heap is, and draw it"},
	{0},
};

const struct kf_command kf_command_explain = {
	.name = "explain",
	.args = "[PID|FILE]",
	.help = "Explain what a process uses its memory for",
	.about =
		"The verdict is leak, growth, fragmentation, waiting, cache, not the heap, never freed\n"
		"or in use.\n"
		"Tables of the parts of the memory, of size classes and, if the process takes\n"
		"samples, of call stacks follow. FILE is the stats file of a process, which may\n"
		"have ended. Several processes are printed as one row each.",
	.examples =
		"  konfiscator explain 4711                why the process is so big, and whether it grows\n"
		"  konfiscator explain --pinned 4711       which blocks keep half-empty slabs\n"
		"  konfiscator explain --map 4711          where the holes in its heap are",
	.options = explain_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.attaches = true,
	.selects_ended = true,
	.stacks = true,
	.pages = true,
	.option = explain_option,
	.run = explain_run,
};
