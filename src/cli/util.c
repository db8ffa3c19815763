/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages, memory, and the stats files that the command line names.
 */
#include "config.h"

#include "cli/cli.h"

#include "reader/calls.h"
#include "reader/map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_line(const char *fmt, va_list args)
{
	char text[4096], safe[4 * sizeof(text)];

	vsnprintf(text, sizeof(text), fmt, args);
	/* keep the order of output where stdout and stderr are the same file */
	fflush(stdout);
	fprintf(stderr, "konfiscator: %s\n",
		kf_escape(safe, sizeof(safe), text));
}

void kf_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line(fmt, args);
	va_end(args);
}

void kf_note(const struct kf_cli *cli, const char *fmt, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, fmt);
	print_line(fmt, args);
	va_end(args);
}

int kf_take_seconds(const char *option, const char *arg, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(arg, &end);
	if (!errno && end != arg && !*end && *seconds >= 0.1 &&
	    *seconds <= 86400)
		return 0;
	kf_error("%s: '%s' is not a number of seconds from 0.1 to 86400",
		 option, arg);
	return KF_EXIT_USAGE;
}

int kf_cli_check_dir(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	kf_error("--dir: %s: %s", path[0] ? path : "''",
		 stat(path, &st) ? strerror(errno) : strerror(ENOTDIR));
	return -1;
}

void *kf_alloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	return p;
}

char *kf_format(const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	return text;
}

void kf_take_marks(char **text, const char *from)
{
	if (kf_calls_mark(text, from))
		return;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

static bool is_again(const char *const *dirs, const char *const *at)
{
	while (dirs < at && strcmp(*dirs, *at) != 0)
		dirs++;
	return dirs < at;
}

void kf_tell_refused(const char *const *all)
{
	for (const char *const *dirs = all; dirs && *dirs; dirs++) {
		int fd;

		/* root's list has its own directory twice */
		if (is_again(all, dirs))
			continue;
		fd = kf_place_open(*dirs);
		if (fd >= 0)
			close(fd);
		else if (kf_place_refused(errno))
			kf_error("%s: not read: %s", *dirs,
				 errno == ELOOP
					 ? "another user may have made a "
					   "symbolic link in this path"
					 : "the directory belongs to another "
					   "user");
	}
}

/* Refused directories do not matter if the selected process was found. */
static bool has_found(const struct kf_cli *cli, const struct kf_files *files)
{
	if (!kf_select_any(&cli->select))
		return false;
	for (unsigned int i = 0; i < files->nr; i++) {
		if (files->file[i].snap.result == KF_READ_OK &&
		    kf_select_matches(&cli->select, &files->file[i]))
			return true;
	}
	return false;
}

static void tell_refused(const struct kf_cli *cli, const struct kf_files *files)
{
	static bool told;
	char **own;

	if (told || has_found(cli, files))
		return;
	told = true;
	own = cli->dirs ? NULL : kf_default_dirs();
	kf_tell_refused(own ? (const char *const *)own : cli->dirs);
	free(own);
}

/* Told even if another file of the process is shown: else nobody notices. */
static void tell_conflicts(const struct kf_files *files)
{
	const struct kf_file *first = NULL;
	static bool told;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];

		if (f->snap.result != KF_READ_CONFLICT)
			continue;
		first = first ? first : f;
		nr++;
	}
	if (!nr || told)
		return;
	told = true;
	kf_error("%s/%s: conflict: the file belongs to user %u, but names "
		 "process %d of another user: not counted",
		 first->dir, first->name, first->snap.owner,
		 first->snap.id.pid);
	if (nr > 1)
		kf_error("%u more files are in conflict: see konfiscator ls",
			 nr - 1);
}

int kf_cli_find(const struct kf_cli *cli, struct kf_files *files)
{
	return kf_cli_find_part(cli, NULL, files);
}

/* Without this a user would take unread files for missing processes. */
static void files_tell_late(const struct kf_files *files)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < files->nr; i++)
		nr += files->file[i].snap.result == KF_READ_LATE;
	if (nr)
		kf_error("%u stats files were not read: the search took "
			 "longer than %d s",
			 nr, KF_SEARCH_S);
}

int kf_cli_find_part(const struct kf_cli *cli, const char *part,
		     struct kf_files *files)
{
	struct kf_find find = {.dirs = (const char *const *)cli->dirs,
			       .part = part,
			       .tables = cli->tables};

	/* --dir restricts the search to that directory */
	if (!cli->dirs) {
		find.pids = cli->select.pids;
		find.nr_pids = cli->select.nr_pids;
	}

	if (kf_files_find(&find, files)) {
		kf_error("reading the stats files: %s", strerror(errno));
		return KF_EXIT_FAILED;
	}
	tell_refused(cli, files);
	files_tell_late(files);
	tell_conflicts(files);
	return 0;
}

void *kf_entry(struct kf_map *map, uint64_t key, bool *is_new)
{
	void *entry = kf_map_find(map, key);

	*is_new = !entry;
	if (!entry)
		entry = kf_map_add(map, key);
	if (entry)
		return entry;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}
