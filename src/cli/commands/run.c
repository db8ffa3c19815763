/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator run: start a program under the library.
 *
 * The library's options are the flags, made from conf.def; the values are
 * judged here by the library's own rules, since a message is worth more before
 * the program runs. Ends as the program, or with 125, 126 or 127 as env(1).
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/library.h"
#include "cli/order.h"
#include "cli/program.h"
#include "cli/commands/conf.h"
#include "cli/commands/run.h"
#include "cli/profile/follow.h"
#include "reader/place.h"
#include "record/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALONE "libkonfiscator-alone.so"

/* Keys of the options: OPT_CONF + the place in conf.def. */
enum { OPT_NO_CHILDREN = KF_OPT_OWN, OPT_NO_FOLLOW, OPT_PYTHON, OPT_CONF };

static bool no_children, no_follow;

char *kf_run_variable(const char *id, const char *value, const char **allowed)
{
	enum kf_conf_id at = kf_conf_find(id, strlen(id));
	char *name, *variable;

	*allowed = NULL;
	if (at == KF_NR_CONF)
		return NULL;
	*allowed = value[0] ? kf_conf_refusal(at, value) : "a value";
	if (*allowed)
		return NULL;
	name = kf_conf_variable(kf_conf_options[at].id);
	variable = kf_format("%s=%s", name, value);
	free(name);
	return variable;
}

static void run_setenv(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return;
	kf_error("run: %s: %s", name, strerror(errno));
	exit(KF_EXIT_RUN_FAILED);
}

void kf_run_set_python(void)
{
	run_setenv("PYTHONMALLOC", "malloc");
}

void kf_run_set(const char *id, const char *value)
{
	char *name = kf_conf_variable(id);

	run_setenv(name, value);
	free(name);
}

/* Children may start elsewhere: the path is the one that is meant here. */
static void run_set_path(const char *id, const char *relative)
{
	char *cwd = relative[0] == '/' ? NULL : getcwd(NULL, 0);
	char *path =
		kf_format("%s%s%s", cwd ? cwd : "", cwd ? "/" : "", relative);

	kf_run_set(id, path);
	free(path);
	free(cwd);
}

/*
 * A recording of an earlier run makes room for this one's. The library never
 * writes to a file that exists, and takes another name.
 */
static bool is_recording(int dirfd, const char *name, struct stat *st)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t magic = 0;
	bool is;

	if (fd < 0)
		return false;
	is = !fstat(fd, st) && S_ISREG(st->st_mode) &&
	     pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	     magic == KF_RECORD_MAGIC;
	close(fd);
	return is;
}

static int run_refuse(const char *id, const char *what)
{
	char *flag = kf_format("--%s", id);

	for (char *p = flag; *p; p++)
		*p = *p == '_' ? '-' : *p;
	kf_error("run: %s: %s", flag, what);
	free(flag);
	return KF_EXIT_RUN_FAILED;
}

static int remove_recording(const char *path)
{
	const char *name;
	int dirfd = kf_place_of(path, &name);
	struct stat st;

	if (dirfd < 0)
		return errno == ELOOP
			       ? run_refuse("record", kf_place_error(errno))
			       : 0; /* the library says what is wrong */
	if (is_recording(dirfd, name, &st) &&
	    kf_place_delete(dirfd, name, st.st_dev, st.st_ino))
		kf_error("run: --record: %s: %s", path, strerror(errno));
	close(dirfd);
	return 0;
}

int kf_run_set_record(const char *path)
{
	char *pattern;

	if (!strchr(path, '%') && remove_recording(path))
		return KF_EXIT_RUN_FAILED;
	pattern = kf_pattern_here(path);
	kf_run_set("record", pattern);
	free(pattern);
	return 0;
}

static int run_set_dir(const char *arg)
{
	if (kf_cli_check_dir(arg))
		return KF_EXIT_RUN_FAILED;
	run_set_path("dir", arg);
	return 0;
}

static int run_option(struct kf_cli *cli, int key, const char *arg)
{
	const struct kf_conf_option *c;
	const char *allowed;

	if (key == OPT_NO_CHILDREN) {
		no_children = true;
		return 0;
	}
	if (key == OPT_NO_FOLLOW) {
		no_follow = true;
		return 0;
	}
	if (key == OPT_PYTHON) {
		kf_run_set_python();
		return 0;
	}
	c = &kf_conf_options[key - OPT_CONF];
	if (!arg[0])
		return run_refuse(c->id, "must not be empty");
	allowed = kf_conf_refusal((enum kf_conf_id)(key - OPT_CONF), arg);
	if (allowed) {
		char *what = kf_format("'%s' is not %s", arg, allowed);
		int status = run_refuse(c->id, what);

		free(what);
		return status;
	}
	if (!strcmp(c->id, "dir"))
		return run_set_dir(arg);
	else if (!strcmp(c->id, "record"))
		return kf_run_set_record(arg);
	else if (c->kind == KF_CONF_ENGINE && strchr(arg, '/'))
		run_set_path(c->id, arg);
	else
		kf_run_set(c->id, arg);
	return 0;
}

/* A library of ours, by a path that LD_PRELOAD can hold. */
static int run_preload(const char *name, char **found)
{
	char *path = kf_library_find(name);
	char *safe = path ? kf_library_safe(path) : NULL;
	int rc = safe ? kf_library_preload(safe) : -1;

	free(safe);
	if (found && !rc)
		*found = path;
	else
		free(path);
	return rc;
}

static bool may_write(const char *dir)
{
	return !faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS);
}

/* A directory that its owner gives to all, or that KONFISCATOR_DIR names. */
static bool is_given(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && S_ISDIR(st.st_mode) && may_write(dir);
}

/* What is wrong with a directory of the user's own; NULL: it will do. */
static const char *own_problem(const char *dir)
{
	char *copy = kf_format("%s", dir);
	bool room = may_write(dirname(copy));
	struct stat st;

	free(copy);
	if (lstat(dir, &st))
		return errno == ENOENT && room ? NULL : "cannot be created";
	if (!S_ISDIR(st.st_mode))
		return "is a symbolic link or not a directory";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by other users";
	return may_write(dir) ? NULL : "is not writable";
}

/*
 * By the library's rules, src/stats/backing.c: it says nothing itself, as it
 * may be in any program.
 */
static void tell_no_place(const struct kf_cli *cli)
{
	const char *stats = getenv("KONFISCATOR_STATS");
	const char *dir = getenv("KONFISCATOR_DIR");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *why = "";
	char *own;

	if ((stats && !strcmp(stats, "0")) || (dir && is_given(dir)) ||
	    is_given("/run/konfiscator"))
		return;
	if (runtime && runtime[0] == '/') {
		own = kf_format("%s/konfiscator", runtime);
		why = own_problem(own);
		free(own);
	}
	if (!why)
		return;
	own = kf_format("/tmp/konfiscator-stats-%u", (unsigned int)geteuid());
	why = own_problem(own);
	if (why)
		kf_note(cli,
			"run: no stats file: %s %s; other programs cannot read the counters; --dir=DIR chooses another directory",
			own, why);
	free(own);
}

/* Returns 0, or the exit status after a message. */
static int run_prepare(const struct kf_cli *cli, const char *program)
{
	char *library = NULL, *reason;

	if (no_children && run_preload(ALONE, NULL))
		return KF_EXIT_RUN_FAILED;
	if (run_preload("libkonfiscator.so", &library))
		return KF_EXIT_RUN_FAILED;
	reason = kf_program_refusal(program, library);
	if (reason)
		kf_error("run: %s: %s", program, reason);
	else if (cli->verbose)
		kf_note(cli, "run: %s under %s", program, library);
	free(library);
	free(reason);
	return reason ? KF_EXIT_RUN_FAILED : 0;
}

/* With samples: a report of the program is of its children too. */
static void run_set_family(void)
{
	char number[16];

	if (no_follow || !getenv("KONFISCATOR_SAMPLE") ||
	    getenv("KONFISCATOR_FAMILY"))
		return;
	snprintf(number, sizeof(number), "%u", kf_family_led(getpid()));
	kf_run_set("family", number);
}

int kf_run(struct kf_cli *cli, int argc, char **argv)
{
	char *program;
	int status;

	if (!argc) {
		kf_error("run: a program is missing: konfiscator run -- PROG");
		return KF_EXIT_RUN_FAILED;
	}
	if (cli->dirs)
		run_set_path("dir", cli->dirs[0]);
	program = kf_program_find(argv[0], &status);
	if (!program) {
		kf_error("run: %s: %s", argv[0],
			 status == KF_EXIT_NOT_FOUND ? "not found"
						     : "not executable");
		return status;
	}
	status = run_prepare(cli, program);
	if (!status) {
		tell_no_place(cli);
		run_set_family();
		fflush(NULL);
		execvp(program, argv);
		status = errno == ENOENT ? KF_EXIT_NOT_FOUND
					 : KF_EXIT_NOT_EXECUTABLE;
		kf_error("run: %s: %s", program, strerror(errno));
	}
	free(program);
	return status;
}

/* The texts of defaults; a number that is 0 has its meaning in the help. */
#define FALLBACK_BOOL(value) #value
#define FALLBACK_COUNT(value) ((value) ? #value : NULL)
#define FALLBACK_SIZE(value) FALLBACK_COUNT(value)
#define FALLBACK_STRING(value) NULL
#define FALLBACK_ENGINE(value) NULL
#define FALLBACK_ACTION(value) NULL
#define FALLBACK_MATCH(value) NULL
#define FALLBACK_LIMIT(value) NULL

static const struct kf_option run_options[] = {
#define KF_CONF_GROUP(title) {KF_OPT_GROUP, NULL, NULL, title},
#define KF_CONF(id, kind, fallback, argument, text) \
	{OPT_CONF + (int)KF_CONF_ID_##id,           \
	 #id,                                       \
	 argument,                                  \
	 text,                                      \
	 FALLBACK_##kind(fallback),                 \
	 KF_CONF_##kind == KF_CONF_SIZE},
#include "core/conf.def"
#undef KF_CONF
#undef KF_CONF_GROUP
	{KF_OPT_GROUP, NULL, NULL, "How the program is run"},
	{OPT_CONF + (int)KF_CONF_ID_record_max, "max-size", "BYTES",
	 "the same as --record-max"},
	{OPT_PYTHON, "python", NULL, KF_RUN_PYTHON},
	{OPT_NO_CHILDREN, "no-children", NULL,
	 "do not run the program's children under the library"},
	{OPT_NO_FOLLOW, "no-follow", NULL,
	 "leave the children out when konfiscator report shows this process"},
	{0},
};

const struct kf_command kf_command_run = {
	.name = "run",
	.args = "[--] PROG [ARG...]",
	.help = "Run a program under the library",
	.about =
		"The library is put at the front of LD_PRELOAD. The exit status is the\n"
		"program's own; 125 if the library cannot be preloaded into it (static, set-id,\n"
		"for another machine, using musl, built with a sanitizer), 126 if it is not\n"
		"executable, 127 if it is not found.",
	.examples =
		"  konfiscator run -- ./server             count what its heap does\n"
		"  konfiscator run --sample=64K -- ./server    take more samples: one per 64 KiB\n"
		"  konfiscator run --python -- python3 app.py  include Python's own objects\n"
		"  konfiscator run --secure=1 -- ./test    detect overflows and uses after free",
	.options = run_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV |
		   KF_FORMAT_PROM,
	.stops = true,
	.usage_status = KF_EXIT_RUN_FAILED,
	.option = run_option,
	.run = kf_run,
};
