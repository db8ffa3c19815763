/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator prune: delete the stats files of processes that have ended.
 *
 * Their counters are added to the ledger first: a file whose counters cannot
 * be added stays.
 *
 * Files of processes that live or cannot be seen from here are never deleted,
 * nor files that are not valid stats files: their owner is not known.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/fold.h"
#include "cli/process.h"
#include "cli/state.h"
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool dry_run;

enum { PROCESS, PID, STATE, ACTION, FILE_NAME };

static const struct kf_column prune_columns[] = {
	[PROCESS] = {"PROCESS", "process", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[STATE] = {"STATE", "state", KF_CELL_TEXT},
	[ACTION] = {"ACTION", "action", KF_CELL_TEXT},
	[FILE_NAME] = {"FILE", "file", KF_CELL_TEXT},
};

static bool has_ended(const struct kf_file *f)
{
	return f->snap.result == KF_READ_OK &&
	       (f->life == KF_LIFE_DEAD || f->life == KF_LIFE_EXECED);
}

static int fold_and_delete(const struct kf_file *f, const char *path)
{
	int r = kf_fold_ended(f);

	if (r && r != -ESTALE) {
		kf_error("prune: %s: not deleted: its counts cannot be added "
			 "to the ledger: %s",
			 path, strerror(-r));
		return -1;
	}
	/* a file that was folded before may still have its name */
	r = r ? r
	    : kf_place_delete(f->dirfd, f->name, f->snap.dev, f->snap.ino)
		    ? -errno
		    : 0;
	if (r)
		kf_error("prune: %s: %s", path,
			 r == -ESTALE ? "another file has its name now"
				      : strerror(-r));
	return r;
}

static int prune_file(struct kf_table *t, const struct kf_file *f)
{
	struct kf_cell *row = kf_table_row(t);
	char *path = kf_format("%s/%s", f->dir, f->name);
	char name[KF_PROCESS_NAME];
	int rc = 0;

	if (!dry_run)
		rc = fold_and_delete(f, path);
	kf_process_name(f, name);
	kf_cell_text(&row[PROCESS], name);
	row[PID].count = (uint64_t)kf_process_id(f);
	kf_cell_text(&row[STATE], kf_state_name(f));
	kf_cell_text(&row[ACTION], rc	     ? "failed"
				   : dry_run ? "would delete"
					     : "deleted");
	row[ACTION].mark = rc ? KF_MARK_BAD : KF_MARK_NONE;
	kf_cell_text(&row[FILE_NAME], path);
	free(path);
	return rc;
}

static int prune_option(struct kf_cli *cli, int key, const char *arg)
{
	dry_run = true;
	return 0;
}

static int prune_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_files files;
	struct kf_table t;
	int status, failed = 0;

	status = kf_cli_find(cli, &files);
	if (status)
		return status;
	kf_table_init(&t, prune_columns, KF_ARRAY_SIZE(prune_columns));
	for (unsigned int i = 0; i < files.nr; i++) {
		if (has_ended(&files.file[i]))
			failed |= prune_file(&t, &files.file[i]);
	}
	if (!cli->quiet && (t.nr_rows || cli->format != KF_FORMAT_TABLE))
		kf_table_print(&t, cli);
	kf_table_release(&t);
	kf_files_release(&files);
	return failed ? KF_EXIT_FAILED : KF_EXIT_OK;
}

static const struct kf_option prune_options[] = {
	{'n', "dry-run", NULL,
	 "print what would be deleted, but delete nothing"},
	{0},
};

const struct kf_command kf_command_prune = {
	.name = "prune",
	.args = "",
	.help = "Delete stats files of processes that have ended",
	.about =
		"A program that exits normally removes its stats file. The library removes files of\n"
		"killed programs after a day, once their counts are in the ledger (konfiscator(7)).\n"
		"prune first adds counts that are not in the ledger yet. If that fails (the disk is\n"
		"full, or the file belongs to another user), the file stays and the exit status is\n"
		"1. Ledgers are never deleted.",
	.options = prune_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = prune_option,
	.run = prune_run,
};
