/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator ls: the stats files, and the states of their processes.
 *
 * Shows every file in the directories, even if it cannot be read, so that a
 * user can see why other commands leave a process out.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/process.h"
#include "cli/state.h"
#include "cli/table.h"
#include "reader/ended.h"

#include <stdlib.h>
#include <sys/stat.h>

enum {
	PROCESS,
	PID,
	USER,
	STATE,
	ENDED,
	AGE,
	DISK,
	SIZE,
	RESULT,
	ENGINE,
	LIBRARY,
	EXE,
	FILE_NAME
};

static const struct kf_column ls_columns[] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[USER] = {NULL, "uid", KF_CELL_COUNT},
	[STATE] = {"STATE", "state", KF_CELL_TEXT},
	[ENDED] = {"ENDED", "ended", KF_CELL_TEXT},
	[AGE] = {"AGE", "age_seconds", KF_CELL_AGE},
	[DISK] = {"DISK", "disk_bytes", KF_CELL_BYTES},
	[SIZE] = {NULL, "size_bytes", KF_CELL_BYTES},
	[RESULT] = {"RESULT", "result", KF_CELL_TEXT},
	[ENGINE] = {NULL, "engine", KF_CELL_TEXT},
	[LIBRARY] = {NULL, "version", KF_CELL_TEXT},
	[EXE] = {NULL, "exe", KF_CELL_TEXT},
	[FILE_NAME] = {"FILE", "file", KF_CELL_TEXT},
};

static void ls_add_process(struct kf_cell *row, const struct kf_file *f,
			   const struct kf_ended_log *log)
{
	const struct kf_stats_identity *id = &f->snap.id;
	char name[KF_PROCESS_NAME], room[16];
	const char *how = kf_ended_how(log, f, room, sizeof(room));

	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	kf_cell_text(&row[ENDED], how ? how : "");
	row[ENDED].none = !how;
	row[PID].count = (uint64_t)kf_process_id(f);
	row[USER].count = id->uid;
	row[AGE].count = kf_file_age_ns(f) / 1000000000;
	kf_cell_text(&row[ENGINE], id->engine);
	kf_cell_text(&row[LIBRARY], id->version);
	kf_cell_text(&row[EXE], id->exe);
}

static void mark_bad(struct kf_cell *row)
{
	row[STATE].mark = KF_MARK_BAD;
	row[PID].none = row[USER].none = row[AGE].none = true;
	row[ENDED].none = true;
}

/* What the file takes: the tables of samples are mostly holes. */
static void add_disk(struct kf_cell *cell, const char *path)
{
	struct stat st;

	cell->none = lstat(path, &st) != 0;
	if (!cell->none)
		cell->count = (uint64_t)st.st_blocks * 512;
}

static void ls_add_file(struct kf_table *t, const struct kf_file *f,
			const struct kf_ended_log *log)
{
	struct kf_cell *row = kf_table_row(t);
	char *path = kf_format("%s/%s", f->dir, f->name);

	kf_cell_text(&row[STATE], kf_state_name(f));
	kf_cell_text(&row[RESULT], kf_read_result_name(f->snap.result));
	kf_cell_text(&row[FILE_NAME], path);
	add_disk(&row[DISK], path);
	row[SIZE].count = f->snap.file_size;
	if (f->snap.result == KF_READ_OK)
		ls_add_process(row, f, log);
	else
		mark_bad(row);
	free(path);
}

static int ls_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_ended_log log;
	struct kf_files files;
	struct kf_table t;
	size_t nr;
	int status;

	status = kf_cli_find(cli, &files);
	if (status)
		return status;
	kf_ended_open(&log);
	kf_table_init(&t, ls_columns, KF_ARRAY_SIZE(ls_columns));
	for (unsigned int i = 0; i < files.nr; i++) {
		if (kf_select_matches(&cli->select, &files.file[i]))
			ls_add_file(&t, &files.file[i], &log);
	}
	nr = t.nr_rows;
	kf_table_print(&t, cli);
	kf_table_release(&t);
	kf_files_release(&files);
	kf_ended_close(&log);
	if (nr)
		return KF_EXIT_OK;
	kf_note(cli, "ls: no stats file%s",
		kf_select_any(&cli->select) ? " matches" : "");
	return KF_EXIT_NO_MATCH;
}

const struct kf_command kf_command_ls = {
	.name = "ls",
	.args = "[PID|FILE...]",
	.help = "List stats files and the states of their processes",
	.about =
		"STATE is alive, dead, execed (the process runs another program now),\n"
		"unknown (a process that cannot be seen from here) or bad (see RESULT).\n"
		"ENDED is how it ended: exit STATUS, exec, OOM or a signal by the kernel's log,\n"
		"likely OOM (the cgroup counts such kills), signal or _exit (one of them), or\n"
		"unknown.",
	.examples =
		"  konfiscator ls                          processes that run now\n"
		"  konfiscator ls -a                       also processes that have ended, and how they ended",
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.selects_ended = true,
	.selects_files = true,
	.pages = true,
	.run = ls_run,
};
