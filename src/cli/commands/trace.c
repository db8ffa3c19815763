/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator trace: run one of the tracing scripts, with all that it needs.
 *
 * Finds script, library and tracer; bpftrace.c and stap.c run the tracers.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/elf.h"
#include "cli/library.h"
#include "cli/program.h"
#include "cli/table.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_ENGINE = KF_OPT_OWN, OPT_ARG };

static unsigned int trace_engine;
static int32_t trace_pid;
static const char **script_args;
static size_t nr_script_args;

static void add_script_arg(const char *arg)
{
	const char **all = kf_alloc(nr_script_args + 2, sizeof(*all));

	for (size_t i = 0; i < nr_script_args; i++)
		all[i] = script_args[i];
	all[nr_script_args++] = arg;
	free(script_args);
	script_args = all;
}

static int trace_option(struct kf_cli *cli, int key, const char *arg)
{
	char *end;
	long n;

	if (key == OPT_ENGINE) {
		trace_engine = !strcmp(arg, "bpftrace") ? KF_ENGINE_BPFTRACE
			       : !strcmp(arg, "stap")	? KF_ENGINE_STAP
							: 0;
		if (trace_engine)
			return 0;
		kf_error("trace: --engine: '%s' is not bpftrace or stap", arg);
		return KF_EXIT_USAGE;
	}
	if (key == OPT_ARG) {
		add_script_arg(arg);
		return 0;
	}
	errno = 0;
	n = strtol(arg, &end, 10);
	if (errno || end == arg || *end || n <= 0 || n > INT32_MAX) {
		kf_error("trace: --pid: '%s' is not a process number", arg);
		return KF_EXIT_USAGE;
	}
	trace_pid = (int32_t)n;
	return 0;
}

enum { NAME, ENGINES, QUESTION };

static const struct kf_column trace_columns[] = {
	[NAME] = {"NAME", "name", KF_CELL_TEXT},
	[ENGINES] = {"ENGINES", "engines", KF_CELL_TEXT},
	[QUESTION] = {"QUESTION", "question", KF_CELL_TEXT},
};

static int trace_list(const struct kf_cli *cli, const struct kf_scripts *s)
{
	static const char *const engines[] = {"", "bpftrace", "stap",
					      "bpftrace,stap"};
	struct kf_table t;

	if (!s->nr) {
		kf_error("trace: there are no scripts in %s", s->dir);
		return KF_EXIT_NO_MATCH;
	}
	kf_table_init(&t, trace_columns, KF_ARRAY_SIZE(trace_columns));
	for (size_t i = 0; i < s->nr; i++) {
		struct kf_cell *row = kf_table_row(&t);

		kf_cell_text(&row[NAME], s->script[i].name);
		kf_cell_text(&row[ENGINES], engines[s->script[i].engines & 3]);
		kf_cell_text(&row[QUESTION], s->script[i].question);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
	return KF_EXIT_OK;
}

/* The traced library, by a path without characters that tracers reject. */
static char *trace_library(bool glibc)
{
	char *path =
		trace_pid || glibc
			? kf_library_of(trace_pid ? trace_pid : getpid(), glibc)
			: kf_library_find("libkonfiscator.so");
	char *safe = path ? kf_library_safe(path) : NULL;

	free(path);
	return safe;
}

/* 0, or the exit status after a message. */
static int trace_check_library(const char *library, bool glibc)
{
	struct kf_elf elf;

	if (kf_elf_read(library, &elf) != KF_ELF_OK) {
		kf_error("trace: %s is not a readable ELF file", library);
		return KF_EXIT_FAILED;
	}
	if (glibc && !elf.nr_marks) {
		kf_error(
			"trace: %s has no malloc probes; the glibc of Debian 14 and later has them",
			library);
		return KF_EXIT_FAILED;
	}
	if (!glibc && !elf.nr_probes) {
		kf_error("trace: %s has no probes: it was built with "
			 "--disable-probes",
			 library);
		return KF_EXIT_FAILED;
	}
	return 0;
}

/* 0, or the exit status after a message. NULL: nothing is preloaded. */
static int trace_check_program(const char *name, const char *library)
{
	int status;
	char *path = kf_program_find(name, &status);
	char *reason =
		path && library ? kf_program_refusal(path, library) : NULL;

	if (!path)
		kf_error("trace: %s: %s", name,
			 status == KF_EXIT_NOT_FOUND ? "not found"
						     : "not executable");
	else if (reason)
		kf_error("trace: %s: %s", path, reason);
	status = !path ? status : reason ? KF_EXIT_RUN_FAILED : 0;
	free(reason);
	free(path);
	return status;
}

/* The tracer for a script: that of --engine, else the first one installed. */
static unsigned int trace_choose(const struct kf_script *script)
{
	unsigned int has = script->engines;
	int unused;
	char *tool;

	if (trace_engine)
		return has & trace_engine;
	tool = kf_program_find("bpftrace", &unused);
	free(tool);
	if (tool && (has & KF_ENGINE_BPFTRACE))
		return KF_ENGINE_BPFTRACE;
	tool = kf_program_find("stap", &unused);
	free(tool);
	if (tool && (has & KF_ENGINE_STAP))
		return KF_ENGINE_STAP;
	kf_error("trace: neither bpftrace nor SystemTap is installed");
	return 0;
}

static char *script_path(const struct kf_scripts *s,
			 const struct kf_script *script, unsigned int tool)
{
	bool stap = tool == KF_ENGINE_STAP;
	const char *dir = stap ? "stap" : "bpftrace";

	return kf_format("%s/%s/%s.%s", s->dir, script->glibc ? "glibc" : dir,
			 script->name, stap ? "stp" : "bt");
}

static int trace_start(const struct kf_cli *cli, const struct kf_scripts *s,
		       const struct kf_script *script, char **argv)
{
	struct kf_trace t = {
		.cli = cli,
		.pid = trace_pid,
		.args = script_args,
		.nr_args = nr_script_args,
	};
	unsigned int tool = trace_choose(script);
	int status = KF_EXIT_FAILED;

	if (!tool) {
		if (trace_engine)
			kf_error("trace: there is no script %s for --engine=%s",
				 script->name,
				 trace_engine == KF_ENGINE_STAP ? "stap"
								: "bpftrace");
		return KF_EXIT_FAILED;
	}
	t.argv = argv[0] ? argv : NULL;
	t.library = trace_library(script->glibc);
	t.preload = script->glibc ? NULL : t.library;
	t.script = script_path(s, script, tool);
	if (t.library) {
		status = t.argv ? trace_check_program(argv[0], t.preload) : 0;
		if (!status)
			status = trace_check_library(t.library, script->glibc);
		if (!status)
			status = tool == KF_ENGINE_STAP ? kf_trace_stap(&t)
							: kf_trace_bpftrace(&t);
	}
	free(t.script);
	free(t.library);
	return status;
}

static int no_script(const struct kf_scripts *s, const char *name)
{
	char *names = kf_format("%s", "");

	for (size_t i = 0; i < s->nr; i++) {
		char *more = kf_format("%s%s%s", names, i ? ", " : "",
				       s->script[i].name);

		free(names);
		names = more;
	}
	kf_error("trace: there is no script '%s' in %s, which has: %s", name,
		 s->dir, s->nr ? names : "none");
	free(names);
	return KF_EXIT_USAGE;
}

static int trace_run(struct kf_cli *cli, int argc, char **argv)
{
	const struct kf_script *script;
	struct kf_scripts s;
	int status;

	if (!argc) {
		kf_error("trace: a script's name is missing: see konfiscator "
			 "trace list");
		return KF_EXIT_USAGE;
	}
	if (trace_pid && argc > 1) {
		kf_error("trace: a program and --pid exclude each other");
		return KF_EXIT_USAGE;
	}
	kf_scripts_find(&s);
	script = kf_scripts_get(&s, argv[0]);
	if (!strcmp(argv[0], "list") && argc == 1) {
		status = trace_list(cli, &s);
	} else if (!script) {
		status = no_script(&s, argv[0]);
	} else {
		status = trace_start(cli, &s, script, argv + 1);
	}
	kf_scripts_release(&s);
	return status;
}

static const struct kf_option trace_options[] = {
	{OPT_ENGINE, "engine", "bpftrace|stap",
	 "use this tracer (default: the first that is installed)"},
	{OPT_ARG, "arg", "VALUE",
	 "pass VALUE to the script; may be given several times"},
	{'p', "pid", "PID", "trace this process, which runs under konfiscator"},
	{0},
};

const struct kf_command kf_command_trace = {
	.name = "trace",
	.args = "list | NAME [-- PROG [ARG...]]",
	.help = "Run a tracing script on one program or process, or on all",
	.about =
		"list prints the scripts and the question that each answers. PROG is started\n"
		"under the library once the tracer is ready; its exit status becomes the exit\n"
		"status of trace, and its children are not traced. With neither PROG nor --pid\n"
		"every process that uses the library is traced until Ctrl-C. The script\n"
		"glibc-malloc traces the C library's malloc, and starts PROG without the library.",
	.examples =
		"  konfiscator trace list                  the scripts and the question that each answers\n"
		"  konfiscator trace sizes -- ./server     run a script on a program",
	.options = trace_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = trace_option,
	.run = trace_run,
};
