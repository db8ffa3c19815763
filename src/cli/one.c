/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The single stats file of a command: see one.h.
 */
#include "config.h"

#include "cli/one.h"
#include "cli/process.h"

#include <fcntl.h>
#include <string.h>

int kf_refuse_file(const char *name, const char *path,
		   const struct kf_snapshot *s)
{
	if (s->result == KF_READ_ERROR)
		kf_error("%s: %s: %s", name, path, strerror(s->error));
	else if (s->result == KF_READ_FOREIGN)
		kf_error("%s: %s: not a stats file", name, path);
	else if (s->result == KF_READ_INCOMPATIBLE)
		kf_error("%s: %s: stats file version %u is not supported: "
			 "this konfiscator reads version %u",
			 name, path, s->major, KF_STATS_MAJOR);
	else if (s->result == KF_READ_NOT_READY)
		kf_error("%s: %s: the stats file is incomplete: its process is "
			 "starting, or was killed at its start",
			 name, path);
	else if (s->result == KF_READ_CONFLICT)
		kf_error("%s: %s: conflict: the file belongs to user %u, but "
			 "names a process of another user",
			 name, path, s->owner);
	else
		kf_error("%s: %s: the stats file is damaged", name, path);
	return KF_EXIT_FAILED;
}

static int read_named(const struct kf_cli *cli, const char *path,
		      struct kf_one *one)
{
	struct kf_file *f = &one->named;
	int status = 0;

	f->life = KF_LIFE_UNKNOWN;
	if (kf_snapshot_read_with(AT_FDCWD, path, cli->tables, &f->snap) ==
	    KF_READ_OK) {
		one->file = f;
	} else {
		status = kf_refuse_file(cli->command->name, path, &f->snap);
		kf_snapshot_release(&f->snap);
	}
	return status;
}

static bool is_meant(const struct kf_cli *cli, const struct kf_file *f)
{
	return f->snap.result == KF_READ_OK &&
	       kf_select_matches(&cli->select, f) &&
	       (cli->select.all || f->life == KF_LIFE_ALIVE);
}

static int find_process(const struct kf_cli *cli, struct kf_one *one)
{
	const char *name = cli->command->name;
	unsigned int nr = 0;
	int status = kf_cli_find(cli, &one->found);

	if (status)
		return status;
	for (unsigned int i = 0; i < one->found.nr; i++) {
		if (!is_meant(cli, &one->found.file[i]))
			continue;
		one->file = &one->found.file[i];
		nr++;
	}
	if (nr == 1)
		return 0;
	if (nr) {
		kf_error("%s: %u processes match: select one with -p PID", name,
			 nr);
	} else {
		kf_select_tell_none(cli, &one->found);
	}
	kf_one_release(one);
	return nr ? KF_EXIT_USAGE : KF_EXIT_NO_MATCH;
}

int kf_one_find(const struct kf_cli *cli, const char *path, struct kf_one *one)
{
	memset(one, 0, sizeof(*one));
	return path ? read_named(cli, path, one) : find_process(cli, one);
}

void kf_one_release(struct kf_one *one)
{
	kf_snapshot_release(&one->named.snap);
	kf_files_release(&one->found);
	memset(one, 0, sizeof(*one));
}

char *kf_one_path(const struct kf_cli *cli, int *status)
{
	struct kf_one one;
	char *path = NULL;

	*status = kf_one_find(cli, NULL, &one);
	if (*status)
		return NULL;
	if (one.file->outside) {
		kf_error("%s: process %d is in another mount namespace: "
			 "konfiscator record -p %d writes a profile of it",
			 cli->command->name, kf_process_id(one.file),
			 kf_process_id(one.file));
		*status = KF_EXIT_FAILED;
	} else {
		path = kf_format("%s/%s", one.file->dir, one.file->name);
	}
	kf_one_release(&one);
	return path;
}

char *kf_one_argument(struct kf_cli *cli, const char *arg, int *status)
{
	char *args[] = {(char *)arg, NULL}, **left = args;
	int nr = 1;

	cli->select.nr_pids = 0;
	*status = kf_select_arguments(cli, &nr, &left);
	return nr || *status ? kf_format("%s", arg) : kf_one_path(cli, status);
}
