/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator doctor: what works here, what is missing, and what to do.
 *
 * Checks try the real thing: a program is started under the library, its stats
 * file is read, and each tracer has to see it.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/doctor.h"
#include "cli/elf.h"
#include "cli/library.h"
#include "cli/program.h"
#include "cli/table.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum state { OK, WARNING, MISSING };

enum { CHECK, STATE, DETAIL };

static const struct kf_column doctor_columns[] = {
	[CHECK] = {"CHECK", "check", KF_CELL_TEXT},
	[STATE] = {"STATE", "state", KF_CELL_TEXT},
	[DETAIL] = {"DETAIL", "detail", KF_CELL_TEXT},
};

static void __attribute__((format(printf, 4, 5)))
doctor_add_row(struct kf_table *t, const char *check, enum state state,
	       const char *fmt, ...)
{
	static const char *const names[] = {"ok", "warning", "missing"};
	static const enum kf_mark marks[] = {KF_MARK_NONE, KF_MARK_WARN,
					     KF_MARK_BAD};
	struct kf_cell *row = kf_table_row(t);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	kf_cell_text(&row[CHECK], check);
	kf_cell_text(&row[STATE], names[state]);
	row[STATE].mark = marks[state];
	kf_cell_text(&row[DETAIL], text);
}

static char *doctor_check_library(struct kf_table *t)
{
	char *tried, *path = kf_library_look("libkonfiscator.so", &tried);

	if (path)
		doctor_add_row(t, "library", OK, "%s", path);
	else
		doctor_add_row(t, "library", MISSING,
			       "%s: %s: install it, or set KONFISCATOR_LIBRARY",
			       tried, strerror(errno));
	free(tried);
	return path;
}

static bool check_preload(struct kf_table *t, const char *library)
{
	struct kf_trial trial;
	bool works = !kf_trial_run(&trial, library);

	if (works)
		doctor_add_row(
			t, "preload", OK,
			"/bin/true ran under the library and left a stats file");
	else
		doctor_add_row(t, "preload", MISSING, "%s", trial.problem);
	return works;
}

/* The library chooses the directory, so a program is started to find it. */
static bool check_place(struct kf_table *t, const struct kf_cli *cli,
			const char *library)
{
	struct kf_trial trial;
	char *dir = kf_trial_place(&trial, library,
				   cli->dirs ? cli->dirs[0] : NULL);
	bool found = dir != NULL;

	if (found)
		doctor_add_row(t, "directory", OK,
			       "stats files are created in %s", dir);
	else
		doctor_add_row(
			t, "directory", MISSING,
			"%s: set KONFISCATOR_DIR to a directory of your own",
			trial.problem);
	free(dir);
	return found;
}

static void check_readable(struct kf_table *t, const struct kf_cli *cli)
{
	unsigned int nr_alive = 0, nr_bad = 0, nr_other = 0;
	struct kf_files files;

	if (kf_cli_find(cli, &files))
		return;
	for (unsigned int i = 0; i < files.nr; i++) {
		const struct kf_file *f = &files.file[i];

		if (f->snap.result != KF_READ_OK)
			nr_bad++;
		else if (f->life == KF_LIFE_ALIVE)
			nr_alive++;
		else
			nr_other++;
	}
	doctor_add_row(
		t, "stats files", nr_bad ? WARNING : OK,
		"%u of living processes, %u of ended or unknown ones, %u not readable%s",
		nr_alive, nr_other, nr_bad,
		nr_bad ? ": see konfiscator ls" : "");
	kf_files_release(&files);
}

static void check_permission(struct kf_table *t)
{
	if (geteuid())
		doctor_add_row(
			t, "permission", WARNING,
			"not root: other users' processes cannot be read, and "
			"nothing can be traced");
	else
		doctor_add_row(t, "permission", OK, "root");
}

static void check_probes(struct kf_table *t, const char *library)
{
	struct kf_elf elf;

	if (kf_elf_read(library, &elf) != KF_ELF_OK)
		doctor_add_row(t, "probes", MISSING, "%s is not an ELF file",
			       library);
	else if (!elf.nr_probes)
		doctor_add_row(t, "probes", MISSING,
			       "the library was built with --disable-probes");
	else
		doctor_add_row(t, "probes", OK, "%u probe sites in the library",
			       elf.nr_probes);
}

static void check_kernel(struct kf_table *t)
{
	bool uprobes = !access(KF_UPROBES, F_OK);
	bool btf = !access("/sys/kernel/btf/vmlinux", F_OK);

	if (!uprobes)
		doctor_add_row(
			t, "kernel", MISSING,
			"no uprobes: the kernel needs CONFIG_UPROBE_EVENTS, and /sys must be mounted");
	else
		doctor_add_row(t, "kernel", OK, "uprobes%s",
			       btf ? ", BTF" : "");
}

struct tool {
	const char *name;
	const char *package;
	int (*trial)(struct kf_trial *trial, const char *library);
};

static const struct tool tools[] = {
	{"bpftrace", "bpftrace", kf_trial_bpftrace},
	{"stap", "systemtap", kf_trial_stap},
};

/* It is ok only if it saw an event of the library. */
static void check_tool(struct kf_table *t, const struct tool *tool,
		       const char *library)
{
	int unused;
	char *path = kf_program_find(tool->name, &unused);
	char *version = path ? kf_tool_version(path) : NULL;
	struct kf_trial trial;

	if (!path)
		doctor_add_row(t, tool->name, MISSING,
			       "not in PATH: install the package %s",
			       tool->package);
	else if (!version)
		doctor_add_row(t, tool->name, WARNING,
			       "%s --version prints nothing", path);
	else if (geteuid())
		doctor_add_row(t, tool->name, WARNING,
			       "%s: must be run as root", version);
	else if (!library)
		doctor_add_row(t, tool->name, WARNING,
			       "%s: not tried without the library", version);
	else if (tool->trial(&trial, library))
		doctor_add_row(t, tool->name, MISSING, "%s: %s", version,
			       trial.problem);
	else
		doctor_add_row(t, tool->name, OK,
			       "%s: saw a program's heap grow", version);
	free(version);
	free(path);
}

static void check_scripts(struct kf_table *t)
{
	struct kf_scripts s;

	kf_scripts_find(&s);
	if (s.nr)
		doctor_add_row(t, "scripts", OK,
			       "%zu in %s: see konfiscator trace list", s.nr,
			       s.dir);
	else
		doctor_add_row(t, "scripts", MISSING,
			       "none in %s: set KONFISCATOR_SCRIPTS", s.dir);
	kf_scripts_release(&s);
}

static bool doctor_check_program(struct kf_table *t, const char *name,
				 const char *library)
{
	int status;
	char *path = kf_program_find(name, &status);
	char *reason =
		path && library ? kf_program_refusal(path, library) : NULL;
	bool good = path && library && !reason;

	if (!path)
		doctor_add_row(t, name, MISSING, "%s",
			       status == KF_EXIT_NOT_FOUND ? "not found"
							   : "not executable");
	else if (!library)
		doctor_add_row(t, name, MISSING,
			       "there is no library to preload");
	else if (reason)
		doctor_add_row(t, name, MISSING, "%s", reason);
	else
		doctor_add_row(t, name, OK, "%s can be run under konfiscator",
			       path);
	free(reason);
	free(path);
	return good;
}

static int doctor_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_table t;
	char *library;
	bool good;

	if (argc > 1) {
		kf_error("doctor: '%s': only one program can be given",
			 argv[1]);
		return KF_EXIT_USAGE;
	}
	kf_table_init(&t, doctor_columns, KF_ARRAY_SIZE(doctor_columns));
	library = doctor_check_library(&t);
	good = library && check_preload(&t, library);
	good = good && check_place(&t, cli, library);
	check_readable(&t, cli);
	check_permission(&t);
	if (library)
		check_probes(&t, library);
	check_kernel(&t);
	for (size_t i = 0; i < KF_ARRAY_SIZE(tools); i++)
		check_tool(&t, &tools[i], good ? library : NULL);
	check_scripts(&t);
	if (argc)
		good &= doctor_check_program(&t, argv[0], library);
	kf_table_print(&t, cli);
	kf_table_release(&t);
	free(library);
	return good ? KF_EXIT_OK : KF_EXIT_FAILED;
}

const struct kf_command kf_command_doctor = {
	.name = "doctor",
	.args = "[PROG]",
	.help = "Check whether this system has what konfiscator needs",
	.about =
		"Each tracer is tried on a program, for at most 30 (bpftrace) or 60 seconds (stap).\n"
		"The exit status is 0 if programs (and PROG, if given) can run under the library\n"
		"and their counters can be read, even if tracing does not work.",
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.run = doctor_run,
};
