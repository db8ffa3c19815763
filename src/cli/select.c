/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The selectors -p, -n, -c and -u, and processes that are arguments; each
 * command evaluates -a itself.
 */
#include "config.h"

#include "cli/cli.h"
#include "base/text.h"
#include "cli/attach.h"
#include "cli/process.h"
#include "reader/regular.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int take_pids(struct kf_select *sel, const char *arg)
{
	const char *at = arg;
	size_t room = 1;

	for (const char *p = arg; *p; p++)
		room += *p == ',';
	free(sel->pids);
	sel->nr_pids = 0;
	sel->pids = kf_alloc(room, sizeof(*sel->pids));
	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (end == at || errno || pid <= 0 || pid > INT32_MAX ||
		    (*end && *end != ',')) {
			kf_error("--pid: '%s' is not a list of process numbers",
				 arg);
			return KF_EXIT_USAGE;
		}
		sel->pids[sel->nr_pids++] = (int32_t)pid;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

/* Returns @list with room for one entry behind @nr. */
static void *select_grow(void *list, unsigned int nr, size_t size)
{
	list = realloc(list, (nr + 1) * size);
	if (list)
		return list;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

void kf_select_pid(struct kf_select *sel, int32_t pid)
{
	sel->pids = select_grow(sel->pids, sel->nr_pids, sizeof(*sel->pids));
	sel->pids[sel->nr_pids++] = pid;
}

static bool select_is_there(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static bool select_is_stats(const char *path)
{
	int fd = kf_regular_open(path);
	uint64_t magic = 0;
	bool is;

	if (fd < 0)
		return false;
	is = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	     magic == KF_STATS_MAGIC;
	close(fd);
	if (!is)
		errno = 0;
	return is;
}

static int select_take_file(struct kf_cli *cli, const char *path)
{
	struct kf_select *sel = &cli->select;
	const char *slash = strrchr(path, '/');
	char *dir;

	if (!select_is_stats(path)) {
		kf_error("%s: '%s' is neither a process number nor a stats "
			 "file%s%s",
			 cli->command->name, path, errno ? ": " : "",
			 errno ? strerror(errno) : "");
		return KF_EXIT_USAGE;
	}
	if (sel->nr_pids) {
		kf_error(
			"%s: '%s': a stats file cannot be combined with process numbers",
			cli->command->name, path);
		return KF_EXIT_USAGE;
	}
	/* The file says in which directory it is. */
	if (!sel->nr_files)
		kf_options_drop_dirs(cli);
	dir = slash == path ? kf_format("/")
	      : slash	    ? kf_format("%.*s", (int)(slash - path), path)
			    : kf_format(".");
	kf_options_add_dir(cli, dir);
	free(dir);
	sel->files =
		select_grow(sel->files, sel->nr_files, sizeof(*sel->files));
	sel->files[sel->nr_files++] = slash ? slash + 1 : path;
	sel->all = true;
	return 0;
}

int kf_select_arguments(struct kf_cli *cli, int *argc, char ***argv)
{
	int status = 0;
	uint64_t pid;

	for (; *argc && kf_parse_u64(**argv, &pid) && pid && pid <= INT32_MAX &&
	       !select_is_there(**argv);
	     ++*argv, --*argc)
		kf_select_pid(&cli->select, (int32_t)pid);
	if (!cli->command->selects_files)
		return 0;
	for (; *argc && !status; ++*argv, --*argc)
		status = select_take_file(cli, **argv);
	return status;
}

static int select_take_user(struct kf_select *sel, const char *arg)
{
	const struct passwd *pw = getpwnam(arg);
	unsigned long uid;
	char *end;

	sel->by_user = true;
	if (pw) {
		sel->user = pw->pw_uid;
		return 0;
	}
	errno = 0;
	uid = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-' || uid > (uid_t)-2) {
		kf_error("--user: there is no user '%s'", arg);
		return KF_EXIT_USAGE;
	}
	sel->user = (uid_t)uid;
	return 0;
}

int kf_select_option(struct kf_select *sel, int key, const char *arg)
{
	switch (key) {
	case 'p':
		return take_pids(sel, arg);
	case 'u':
		return select_take_user(sel, arg);
	case 'n':
		sel->name = arg;
		return 0;
	case 'c':
		sel->container = arg;
		return 0;
	default:
		sel->all = true;
		return 0;
	}
}

bool kf_select_any(const struct kf_select *sel)
{
	return sel->nr_pids || sel->nr_files || sel->name || sel->container ||
	       sel->by_user;
}

const char *kf_select_hint(const struct kf_cli *cli)
{
	const struct kf_command *c = cli->command;

	if (cli->select.all)
		return "; a program that exits normally keeps its file only "
		       "with KONFISCATOR_KEEP=1";
	return c->selects_ended ? "; -a includes those that have ended" : "";
}

static bool pid_matches(const struct kf_select *sel, const struct kf_file *f)
{
	for (unsigned int i = 0; i < sel->nr_pids; i++) {
		if (sel->pids[i] == kf_process_id(f))
			return true;
	}
	return !sel->nr_pids;
}

static bool file_matches(const struct kf_select *sel, const struct kf_file *f)
{
	for (unsigned int i = 0; i < sel->nr_files; i++) {
		if (!strcmp(sel->files[i], f->name))
			return true;
	}
	return !sel->nr_files;
}

static bool name_matches(const struct kf_select *sel, const struct kf_file *f)
{
	char name[KF_PROCESS_NAME];

	if (!sel->name)
		return true;
	kf_process_name(f, name);
	return !fnmatch(sel->name, name, 0) ||
	       !fnmatch(sel->name, f->snap.id.comm, 0);
}

static bool container_matches(const struct kf_select *sel,
			      const struct kf_file *f)
{
	char id[KF_CONTAINER_ID];

	if (!sel->container)
		return true;
	kf_process_container(f, id);
	return id[0] && !strncmp(id, sel->container, strlen(sel->container));
}

bool kf_select_matches(const struct kf_select *sel, const struct kf_file *f)
{
	if (f->snap.result != KF_READ_OK)
		return sel->nr_files ? file_matches(sel, f)
				     : !kf_select_any(sel);
	return file_matches(sel, f) && pid_matches(sel, f) &&
	       name_matches(sel, f) &&
	       (!sel->by_user || f->snap.id.uid == sel->user) &&
	       container_matches(sel, f);
}

#define TOLD_PROCESSES 8

/* The processes that could have been selected. */
static void select_tell_others(const struct kf_cli *cli,
			       const struct kf_files *files)
{
	char name[KF_PROCESS_NAME], safe[4 * KF_PROCESS_NAME];
	char *all = kf_format("%s", "");
	unsigned int nr = 0;

	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];
		char *more;

		if (f->snap.result != KF_READ_OK || f->life != KF_LIFE_ALIVE ||
		    nr++ >= TOLD_PROCESSES)
			continue;
		kf_process_name(f, name);
		more = kf_format("%s%s%d (%s)", all, nr > 1 ? ", " : "",
				 kf_process_id(f),
				 kf_escape(safe, sizeof(safe), name));
		free(all);
		all = more;
	}
	if (!nr)
		kf_note(cli, "no process runs under konfiscator");
	else if (nr > TOLD_PROCESSES)
		kf_note(cli, "%u processes run under konfiscator: %s, ...", nr,
			all);
	else
		kf_note(cli, "under konfiscator: %s", all);
	free(all);
}

/* One process is selected, by its number alone: nothing else leaves it out. */
static bool select_is_one_number(const struct kf_select *sel)
{
	return sel->nr_pids == 1 && !sel->name && !sel->container &&
	       !sel->by_user;
}

static void select_tell_why(const struct kf_cli *cli, int32_t pid)
{
	char *why = kf_attach_why_none(pid, false);

	kf_note(cli, "%s: process %d has no stats file: %s", cli->command->name,
		pid, why);
	free(why);
}

void kf_select_tell_none(const struct kf_cli *cli, const struct kf_files *files)
{
	const struct kf_select *sel = &cli->select;
	const char *name = cli->command->name;

	if (!select_is_one_number(sel))
		kf_note(cli, "%s: no process matches%s", name,
			kf_select_hint(cli));
	else if (kill(sel->pids[0], 0) && errno == ESRCH)
		kf_note(cli, "%s: there is no process %d%s", name, sel->pids[0],
			kf_select_hint(cli));
	else
		select_tell_why(cli, sel->pids[0]);
	select_tell_others(cli, files);
}
