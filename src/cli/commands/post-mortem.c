/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator post-mortem: what a process that has ended held, and how it came
 * to that, from the stats file that it left. The parts, the verdict, the
 * stacks, the tags and the events are those of the commands explain, tags and
 * events.
 */
#include "config.h"

#include "cli/commands/events.h"
#include "cli/commands/explain.h"
#include "cli/one.h"
#include "cli/process.h"
#include "cli/profile/guards.h"
#include "cli/profile/views.h"
#include "cli/tags/tags.h"
#include "cli/terminal.h"
#include "reader/ended.h"
#include "reader/growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)
#define USUAL_EVENTS 10
#define USUAL_MOMENTS 16 /* rows for people */
#define BAR 30		 /* characters of the longest bar */

static const char *pm_output; /* of -o */

/* A process that has ended, and how. */
struct body {
	const struct kf_file *file;
	char how[32];
	uint64_t resident; /* when the kernel killed it, or 0 */
	uint64_t seen;	   /* CLOCK_REALTIME when it was seen last */
};

struct bodies {
	struct kf_files files;
	struct kf_ended_log log;
	struct body *body; /* the latest first */
	unsigned int nr;
	unsigned int first; /* the one to tell of; those before are passed over
			     */
};

static uint64_t pm_seen(const struct kf_snapshot *s)
{
	uint64_t seen = kf_snapshot_seen(s);

	return s->id.created_ns + (seen ? seen - s->id.created_mono : 0);
}

/* Of processes that were not named only those that certainly ended are meant.
 */
static bool pm_wants(const struct kf_cli *cli, const struct kf_file *f)
{
	bool named = cli->select.nr_pids || cli->select.nr_files;

	return f->snap.result == KF_READ_OK &&
	       kf_select_matches(&cli->select, f) &&
	       (f->life == KF_LIFE_DEAD || (named && f->life != KF_LIFE_ALIVE));
}

static int pm_latest_first(const void *va, const void *vb)
{
	const struct body *a = va, *b = vb;

	return (a->seen < b->seen) - (a->seen > b->seen);
}

static bool pm_ended_well(const struct body *b)
{
	return !strcmp(b->how, "exit 0");
}

static void pm_collect(const struct kf_cli *cli, struct bodies *all)
{
	char room[16];

	all->body = kf_alloc(all->files.nr + 1u, sizeof(*all->body));
	for (unsigned int i = 0; i < all->files.nr; i++) {
		const struct kf_file *f = &all->files.file[i];
		struct body *b = &all->body[all->nr];
		const char *how;

		if (!pm_wants(cli, f))
			continue;
		how = kf_ended_how(&all->log, f, room, sizeof(room));
		snprintf(b->how, sizeof(b->how), "%s", how ? how : "unknown");
		b->resident = strcmp(b->how, "OOM")
				      ? 0
				      : kf_ended_resident(&all->log, f);
		b->file = f;
		b->seen = pm_seen(&f->snap);
		all->nr++;
	}
	qsort(all->body, all->nr, sizeof(*all->body), pm_latest_first);
}

/*
 * Processes that ended well are passed over, unless nothing else was selected.
 */
static void pm_choose(const struct kf_cli *cli, struct bodies *all)
{
	if (cli->select.nr_pids || cli->select.nr_files)
		return;
	while (all->first < all->nr && pm_ended_well(&all->body[all->first]))
		all->first++;
	if (all->first == all->nr && kf_select_any(&cli->select))
		all->first = 0;
}

static int pm_none(const struct kf_cli *cli, const struct bodies *all)
{
	for (unsigned int i = 0; i < all->files.nr; i++) {
		const struct kf_file *f = &all->files.file[i];

		if (f->snap.result != KF_READ_OK || f->life != KF_LIFE_ALIVE ||
		    !cli->select.nr_pids || !kf_select_matches(&cli->select, f))
			continue;
		kf_note(cli,
			"post-mortem: process %d still runs: see konfiscator explain %d",
			kf_process_id(f), kf_process_id(f));
		return KF_EXIT_NO_MATCH;
	}
	if (all->nr)
		kf_note(cli,
			"post-mortem: all processes that left a stats file ended by exit 0: choose one from konfiscator ls -a");
	else
		kf_note(cli,
			"post-mortem: no process that has ended%s left a stats "
			"file: a program that exits normally keeps its file "
			"only if samples were asked for, or with "
			"KONFISCATOR_KEEP=1",
			kf_select_any(&cli->select) ? " and matches" : "");
	return KF_EXIT_NO_MATCH;
}

static void pm_time(char *text, size_t size, uint64_t ns)
{
	time_t seconds = (time_t)(ns / SECOND);
	struct tm tm;

	text[0] = '\0';
	if (localtime_r(&seconds, &tm))
		strftime(text, size, "%F %T", &tm);
}

enum {
	ENDED,
	KILLED_AT,
	COMMAND,
	CONTAINER,
	CGROUP,
	BEGAN,
	SEEN,
	LIVED,
	PATH,
	NR_HEAD
};

static const struct kf_column pm_head[NR_HEAD] = {
	[ENDED] = {"ended", "ended", KF_CELL_TEXT},
	[KILLED_AT] = {"resident when killed", "killed_resident_bytes",
		       KF_CELL_BYTES},
	[COMMAND] = {"command", "command", KF_CELL_TEXT},
	[CONTAINER] = {"container", "container", KF_CELL_TEXT},
	[CGROUP] = {"cgroup", "cgroup", KF_CELL_TEXT},
	[BEGAN] = {"began", "began", KF_CELL_TEXT},
	[SEEN] = {"last seen", "last_seen", KF_CELL_TEXT},
	[LIVED] = {"lived", "lived_seconds", KF_CELL_SECONDS},
	[PATH] = {"file", "file", KF_CELL_TEXT},
};

static void pm_fill_head(struct kf_table *t, const struct body *b)
{
	const struct kf_snapshot *s = &b->file->snap;
	char *path = kf_format("%s/%s", b->file->dir, b->file->name);
	char id[KF_CONTAINER_ID], day[64];
	struct kf_cell *row;

	kf_table_init(t, pm_head, NR_HEAD);
	row = kf_table_row(t);
	kf_process_container(b->file, id);
	kf_cell_text(&row[ENDED], b->how);
	row[KILLED_AT].count = b->resident;
	row[KILLED_AT].none = !b->resident;
	kf_cell_text(&row[COMMAND],
		     s->ending.cmdline[0] ? s->ending.cmdline : s->id.exe);
	kf_cell_text(&row[CONTAINER], id);
	row[CONTAINER].none = !id[0];
	kf_cell_text(&row[CGROUP], s->ending.cgroup);
	row[CGROUP].none = !s->ending.cgroup[0];
	pm_time(day, sizeof(day), s->id.created_ns);
	kf_cell_text(&row[BEGAN], day);
	pm_time(day, sizeof(day), b->seen);
	kf_cell_text(&row[SEEN], day);
	row[LIVED].real = (double)(b->seen - s->id.created_ns) / 1e9;
	row[SEEN].none = row[LIVED].none = !kf_snapshot_seen(s);
	kf_cell_text(&row[PATH], path);
	free(path);
}

/* As lines: the texts are long. */
static void pm_print_head(const struct body *b)
{
	char name[KF_PROCESS_NAME], safe[4 * KF_PROCESS_NAME];
	char buf[KF_CELL_SIZE], text[4 * 1024];
	struct kf_table t;
	int32_t pid;

	pid = kf_process_id(b->file);
	kf_process_name(b->file, name);
	printf("%s (%d)\n", kf_escape(safe, sizeof(safe), name), pid);
	pm_fill_head(&t, b);
	for (size_t i = 0; i < NR_HEAD; i++) {
		if (t.cells[i].none)
			continue;
		printf("%s: %s\n", pm_head[i].head,
		       kf_escape(text, sizeof(text),
				 kf_table_text(&t, 0, i, buf, false)));
	}
	kf_table_release(&t);
}

#define PM_PASSED 4u /* processes that are named */

static void pm_print_passed(const struct bodies *all)
{
	const char *before = "skipped, because they ended by exit 0: ";
	char name[KF_PROCESS_NAME], safe[4 * KF_PROCESS_NAME];

	for (unsigned int i = 0; i < KF_MIN(all->first, PM_PASSED); i++) {
		const struct kf_file *f = all->body[i].file;

		kf_process_name(f, name);
		printf("%s%s (%d)", i ? ", " : before,
		       kf_escape(safe, sizeof(safe), name), kf_process_id(f));
	}
	if (all->first > PM_PASSED)
		printf(", and %u more", all->first - PM_PASSED);
	if (all->first)
		puts("\n");
}

enum { BEFORE, USED, HELD, ALLOCATED, BLOCKS, GRAPH, NR_GROWTH };

static const struct kf_column pm_growth[NR_GROWTH] = {
	[BEFORE] = {"BEFORE-END", "before_end_seconds", KF_CELL_SECONDS},
	[USED] = {"IN-USE", "used_bytes", KF_CELL_BYTES},
	[HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[ALLOCATED] = {"ALLOCATED", "allocated_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "blocks", KF_CELL_COUNT},
	[GRAPH] = {"", NULL, KF_CELL_TEXT},
};

static void growth_add_row(struct kf_table *t, const struct kf_stats_moment *m,
			   uint64_t end, uint64_t most)
{
	struct kf_cell *row = kf_table_row(t);
	char bar[BAR + 2] = "|";

	if (most)
		memset(bar + 1, '#',
		       (size_t)((double)m->live / (double)most * BAR + 0.5));
	row[BEFORE].real = (double)(end - KF_MIN(m->time, end)) / 1e9;
	row[USED].count = m->live;
	row[HELD].count = m->held;
	row[ALLOCATED].count = m->allocated;
	row[BLOCKS].count = m->blocks;
	kf_cell_text(&row[GRAPH], bar);
}

/* The moments, and the end; rows for people are as many as can be read. */
static void pm_fill_growth(struct kf_table *t, const struct kf_snapshot *s,
			   bool all)
{
	const struct kf_stats_moment end = kf_snapshot_end(s);
	uint64_t nr = s->nr_moments,
		 rows = all ? nr : KF_MIN(nr, (uint64_t)USUAL_MOMENTS - 1),
		 most = end.live;

	kf_table_init(t, pm_growth, NR_GROWTH);
	if (!nr)
		return;
	for (uint64_t i = 0; i < nr; i++)
		most = KF_MAX(most, s->moments[i].live);
	for (uint64_t i = 0; i < rows; i++)
		growth_add_row(t, &s->moments[i * nr / rows], end.time, most);
	growth_add_row(t, &end, end.time, most);
}

static void pm_add_how(json_t *lines, const struct bodies *all,
		       const struct body *b)
{
	const struct kf_snapshot *s = &b->file->snap;

	if (!strcmp(b->how, "signal or _exit"))
		kf_explain_add_line(
			lines,
			kf_format(
				"which signal it was, or whether it called "
				"_exit(): %s",
				all->log.readable
					? "the kernel's log does not mention it"
					: "crashes and OOM kills are in the kernel's log, which root may read"));
	else if (!strcmp(b->how, "unknown"))
		kf_explain_add_line(
			lines,
			kf_format("how the process ended: %s",
				  strcmp(all->log.boot_id, s->id.boot_id) != 0
					  ? "it ended before the last boot"
				  : s->knows_exit
					  ? "it cannot be seen from here"
					  : "an older library wrote the file"));
}

/* The first moment is that of the file's begin. */
static void pm_add_history(json_t *lines, const struct kf_snapshot *s)
{
	const char *why = "its allocator did not read the clock again";

	if (!s->nr_moments)
		why = "an older library wrote the file";
	else if (strcmp(s->id.engine, "firstfit") != 0)
		why = "only the engine firstfit reads a clock";
	if (s->nr_moments < 2)
		kf_explain_add_line(lines,
				    kf_format("how its memory grew: %s", why));
	if (!s->nr_events)
		kf_explain_add_line(
			lines,
			kf_format(
				"its last events: the stats file has none, as with KONFISCATOR_EVENTS=0"));
}

static json_t *pm_unknown(const struct bodies *all, const struct body *b)
{
	json_t *lines = json_array();

	pm_add_how(lines, all, b);
	pm_add_history(lines, &b->file->snap);
	return lines;
}

static void pm_fill_tags(struct kf_table *t, const struct kf_file *f)
{
	struct kf_tag_set set;

	kf_tag_set_of_file(&set, f);
	kf_tags_flat_table(t, &set);
	kf_tag_set_release(&set);
}

static void pm_print_table(const struct kf_cli *cli, struct kf_table *t)
{
	if (t->nr_rows) {
		putchar('\n');
		kf_table_print(t, cli);
	}
	kf_table_release(t);
}

static int pm_print(const struct kf_cli *cli, const struct bodies *all,
		    const struct body *b)
{
	const struct kf_watch w = {.first = b->file, .last = b->file};
	struct kf_explained e;
	struct kf_table t;
	int status;

	kf_explain(&w, &e);
	kf_pager_start(cli);
	pm_print_passed(all);
	pm_print_head(b);
	fputs("\nverdict: ", stdout);
	kf_explain_print_verdict(&w, &e);
	kf_explain_print_unknown(pm_unknown(all, b));
	kf_guards_print(cli, b->file);
	putchar('\n');
	kf_explain_print_parts(cli, &e);
	kf_explain_print_mappings(cli, &w, &e.facts);
	pm_fill_growth(&t, &b->file->snap, false);
	pm_print_table(cli, &t);
	status = kf_explain_print_rows(cli, &w, e.verdict);
	pm_fill_tags(&t, b->file);
	kf_explain_print_table(cli, &t, "tags");
	kf_table_release(&t);
	kf_events_last(&t, cli, &b->file->snap, USUAL_EVENTS);
	pm_print_table(cli, &t);
	kf_explained_release(&e);
	return status;
}

static void pm_set_rows(json_t *o, const char *key, struct kf_table *t)
{
	json_object_set_new(o, key, kf_table_json(t));
	kf_table_release(t);
}

static json_t *pm_passed_json(const struct bodies *all)
{
	json_t *passed = json_array();

	for (unsigned int i = 0; i < all->first; i++)
		json_array_append_new(
			passed, json_integer(kf_process_id(all->body[i].file)));
	return passed;
}

static int pm_print_json(const struct kf_cli *cli, const struct bodies *all,
			 const struct body *b)
{
	const struct kf_watch w = {.first = b->file, .last = b->file};
	struct kf_explained e;
	struct kf_table t;
	json_t *o, *head, *unknown;
	int status;

	kf_explain(&w, &e);
	status = kf_explain_json(cli, &w, &e, &o);
	pm_fill_head(&t, b);
	head = kf_table_json(&t);
	json_object_update(o, json_array_get(head, 0));
	json_decref(head);
	kf_table_release(&t);
	pm_fill_growth(&t, &b->file->snap, true);
	pm_set_rows(o, "growth", &t);
	pm_fill_tags(&t, b->file);
	pm_set_rows(o, "tags", &t);
	kf_events_last(&t, cli, &b->file->snap, UINT32_MAX);
	pm_set_rows(o, "events", &t);
	json_object_set_new(o, "guard_reports", kf_guards_json(cli, b->file));
	unknown = pm_unknown(all, b);
	head = kf_explain_unknown(&w, &e);
	json_array_extend(unknown, head);
	json_decref(head);
	json_object_set_new(o, "unknown", unknown);
	json_object_set_new(o, "passed_over", pm_passed_json(all));
	kf_pager_start(cli);
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(o);
	kf_explained_release(&e);
	return status;
}

/* What was live at the end, as report -o --metric=live writes it. */
static int pm_write(const struct kf_cli *cli, const struct body *b)
{
	const struct kf_profile_pick pick = {.at = -1};
	char *path = kf_format("%s/%s", b->file->dir, b->file->name);
	struct kf_report r = {.cli = cli, .path = path, .output = pm_output};
	char name[KF_PROCESS_NAME];
	int status = kf_prof_report(&r, &pick, NULL);

	kf_process_name(b->file, name);
	if (!status)
		kf_note(cli, "post-mortem: %s: of %s (%d), %s", pm_output, name,
			kf_process_id(b->file), b->how);
	free(path);
	return status;
}

static int pm_tell(const struct kf_cli *cli, const struct bodies *all)
{
	struct body b = all->body[all->first];
	struct kf_file f = *b.file;
	int status;

	if (pm_output)
		return pm_write(cli, &b);
	if (kf_snapshot_read_with(f.dirfd, f.name,
				  KF_TABLE_STACKS | KF_TABLE_TAGS |
					  KF_TABLE_EVENTS | KF_TABLE_MOMENTS |
					  KF_TABLE_REPORTS | KF_TABLE_MAPPINGS,
				  &f.snap) != KF_READ_OK) {
		status = kf_refuse_file("post-mortem", f.name, &f.snap);
	} else {
		b.file = &f;
		b.seen = pm_seen(&f.snap);
		status = cli->format == KF_FORMAT_JSON
				 ? pm_print_json(cli, all, &b)
				 : pm_print(cli, all, &b);
	}
	kf_snapshot_release(&f.snap);
	return status;
}

static int pm_run(struct kf_cli *cli, int argc, char **argv)
{
	struct bodies all = {0};
	int status;

	(void)argc;
	(void)argv;
	if (pm_output && cli->format != KF_FORMAT_TABLE) {
		kf_error("post-mortem: --format and -o exclude each other");
		return KF_EXIT_USAGE;
	}
	cli->tables = KF_TABLE_MOMENTS;
	status = kf_cli_find(cli, &all.files);
	if (status)
		return status;
	kf_ended_open(&all.log);
	pm_collect(cli, &all);
	pm_choose(cli, &all);
	status = all.first < all.nr ? pm_tell(cli, &all) : pm_none(cli, &all);
	free(all.body);
	kf_ended_close(&all.log);
	kf_files_release(&all.files);
	return status;
}

static int pm_option(struct kf_cli *cli, int key, const char *arg)
{
	(void)cli;
	(void)key;
	pm_output = arg;
	return 0;
}

static const struct kf_option pm_options[] = {
	{'o', "output", "FILE",
	 "write a profile of the memory that was live at the end; the suffix chooses the format"},
	{0},
};

const struct kf_command kf_command_post_mortem = {
	.name = "post-mortem",
	.args = "[PID|FILE]",
	.help = "Show what an ended process held and how it grew",
	.about =
		"By default the process is the latest one that left a stats file and did not end\n"
		"by exit 0; konfiscator ls -a lists them. If options match several processes, it\n"
		"is the latest of these.",
	.options = pm_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON,
	.selects = true,
	.selects_files = true,
	.stacks = true,
	.pages = true,
	.option = pm_option,
	.run = pm_run,
};
