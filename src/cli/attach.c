/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * gdb started and heard: see attach.h.
 *
 * gdb gets no file of settings, no shell, no debuginfod and no terminal, and is
 * in a session of its own, so that Ctrl-C does not reach it in the middle of a
 * call. It is never ended while a call is under way, as the process would then
 * return to nowhere; the script has a limit for that itself.
 */
#include "config.h"

#include "cli/attach.h"

#include "cli/library.h"
#include "cli/program.h"
#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWERS 3   /* descriptor of gdb, as in the script */
#define STARTS_S 60 /* gdb starts and reads files, beyond the limit */

/* What was heard. */
struct heard {
	const struct kf_attach *a;
	int answers;   /* to gdb */
	char *last;    /* the last line that is an answer, or any, or NULL */
	bool answered; /* @last is an answer */
	bool calls;    /* the calls have begun */
	pid_t tid;     /* the thread of a call that may be ended, or 0 */
	bool ended;    /* it was */
	double until;  /* the limit of the call */
};

struct gdb {
	pid_t pid;
	int answers; /* to it */
	int out;     /* of it */
};

static double attach_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void attach_set(const char *name, char *value)
{
	setenv(name, value, 1);
	free(value);
}

/* Seen by gdb, not by the process. */
static void set_environment(const struct kf_attach *a, const char *library,
			    bool load)
{
	attach_set("KF_PID", kf_format("%d", a->pid));
	attach_set("KF_LIBRARY", kf_format("%s", library));
	attach_set("KF_FUNCTION", kf_format("konfiscator_%s",
					    a->detach ? "detach" : "attach"));
	attach_set("KF_LOAD", kf_format("%d", load));
	attach_set("KF_SAMPLE",
		   kf_format("%llu", (unsigned long long)a->sample));
	attach_set("KF_SECONDS", kf_format("%f", a->seconds));
	attach_set("LC_ALL", kf_format("C"));
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("PYTHONHOME");
	unsetenv("PYTHONPATH");
	unsetenv("PYTHONSTARTUP");
}

static void __attribute__((noreturn))
exec_gdb(const char *gdb, int answers, int out)
{
	char *dir = kf_scripts_dir();
	char *script = kf_format("%s/gdb/attach.py", dir);
	const char *const argv[] = {
		gdb,
		"-nx",
		"-batch",
		"-iex",
		"set auto-load off",
		"-iex",
		"set auto-solib-add off",
		"-iex",
		"set startup-with-shell off",
		"-x",
		script,
		NULL,
	};
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	attach_set("KF_SCRIPTS", kf_format("%s/gdb", dir));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (null >= 0)
		dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (answers == ANSWERS)
		fcntl(answers, F_SETFD, 0);
	else
		dup2(answers, ANSWERS);
	execv(gdb, (char **)argv);
	_exit(KF_EXIT_NOT_FOUND);
}

static void attach_hear(struct heard *h, const char *line)
{
	bool answer = !strncmp(line, "ok ", 3) || !strncmp(line, "no ", 3);

	if (!strncmp(line, "calling ", 8)) {
		h->calls = true;
		h->tid = (pid_t)strtol(line + 8, NULL, 10);
		h->until = attach_now() + h->a->seconds;
	} else if (!strcmp(line, "called")) {
		h->tid = 0;
		if (write(h->answers, h->ended ? "l" : "g", 1) != 1)
			h->ended = true;
		h->ended = false;
	}
	if (!*line || (h->answered && !answer))
		return;
	free(h->last);
	h->last = kf_format("%s", line);
	h->answered = answer;
}

/* gdb does not pass the signal on, and puts the thread's registers back. */
static void end_call(struct heard *h)
{
	if (!h->tid || h->ended || attach_now() < h->until)
		return;
	h->ended = true;
	syscall(SYS_tgkill, h->a->pid, h->tid, SIGTRAP);
}

/* Reads to the end; false: there was none in time, before any call. */
static bool hear_all(int fd, double limit, struct heard *h)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	double until = attach_now() + limit;
	char line[1024];
	size_t n = 0;
	char c;

	for (;;) {
		int r = poll(&p, 1, 200);

		if (!r && !h->calls && attach_now() > until)
			return false;
		if (!r)
			end_call(h);
		if (!r || (r < 0 && errno == EINTR))
			continue;
		if (read(fd, &c, 1) != 1)
			break;
		if (c != '\n') {
			line[n] = c;
			n += n + 1 < sizeof(line);
			continue;
		}
		line[n] = '\0';
		attach_hear(h, line);
		n = 0;
	}
	return true;
}

static char *gdb_words(const struct heard *h)
{
	if (!h->last)
		return kf_format("gdb printed no message");
	if (h->answered)
		return kf_format("%s", h->last + 3);
	if (strstr(h->last, "Python"))
		return kf_format("this gdb has no Python: install the package "
				 "gdb in place of gdb-minimal");
	return kf_format("gdb: %s", h->last);
}

/* Starts gdb; false with errno. */
static bool start_gdb(const char *gdb, const struct kf_attach *a,
		      const char *library, bool load, struct gdb *g)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC))
		return false;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return false;
	}
	fflush(NULL);
	g->pid = fork();
	if (!g->pid) {
		set_environment(a, library, load);
		exec_gdb(gdb, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	g->answers = in[1];
	g->out = out[0];
	if (g->pid > 0)
		return true;
	close(g->answers);
	close(g->out);
	return false;
}

/* NULL: done; or the reason, to free(). */
static char *run_gdb(const char *gdb, const struct kf_attach *a,
		     const char *library, bool load, double *stopped_ms)
{
	struct heard h = {.a = a};
	char *why = NULL;
	struct gdb g;
	bool in_time;

	if (!start_gdb(gdb, a, library, load, &g))
		return kf_format("gdb cannot be started: %s", strerror(errno));
	h.answers = g.answers;
	in_time = hear_all(g.out, a->seconds + STARTS_S, &h);
	if (!in_time)
		kill(g.pid, SIGKILL);
	close(g.answers);
	close(g.out);
	while (waitpid(g.pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		why = kf_format("gdb did not stop it in time");
	else if (!h.answered || strncmp(h.last, "ok ", 3) != 0)
		why = gdb_words(&h);
	else
		*stopped_ms = strtod(h.last + 3, NULL);
	free(h.last);
	return why;
}

/* Signals wait until the process goes on. */
static char *run_held(const char *gdb, const struct kf_attach *a,
		      const char *library, bool load, double *stopped_ms)
{
	sigset_t set, old;
	char *why;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	why = run_gdb(gdb, a, library, load, stopped_ms);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return why;
}

static void say_done(const struct kf_cli *cli, const struct kf_attach *a,
		     double took_s, double stopped_ms)
{
	char comm[KF_PROC_COMM] = "", safe[4 * KF_PROC_COMM];

	if (cli->quiet)
		return;
	kf_proc_comm("/proc", a->pid, comm);
	fprintf(cli->command == &kf_command_attach ||
				cli->command == &kf_command_detach
			? stdout
			: stderr,
		"%s process %d (%s) in %.2f s; it was stopped for %.0f ms\n",
		a->detach ? "detached" : "attached", a->pid,
		kf_escape(safe, sizeof(safe), comm), took_s, stopped_ms);
}

static int attach_with(const struct kf_cli *cli, const struct kf_attach *a,
		       const char *gdb, const char *library)
{
	char *mapped = kf_attach_mapped(a->pid);
	char *path = mapped ? kf_format("%s", mapped)
			    : kf_attach_place(a->pid, library);
	double began = attach_now(), stopped_ms = 0;
	char *why = path ? run_held(gdb, a, path, !mapped, &stopped_ms) : NULL;

	if (why)
		kf_error("%s: process %d: %s", cli->command->name, a->pid, why);
	else if (path)
		say_done(cli, a, attach_now() - began, stopped_ms);
	if (path && (a->detach ? !why : why && !mapped))
		kf_attach_unplace(a->pid, path);
	free(path);
	free(mapped);
	free(why);
	return path && !why ? 0 : KF_EXIT_FAILED;
}

int kf_attach(const struct kf_cli *cli, const struct kf_attach *a)
{
	char *library = kf_library_find("libkonfiscator.so");
	char *why = library ? kf_attach_refusal(a, library) : NULL;
	int status = KF_EXIT_FAILED, unused;
	char *gdb = NULL;

	if (why)
		kf_error("%s: process %d: %s", cli->command->name, a->pid, why);
	else if (library)
		gdb = kf_program_find("gdb", &unused);
	if (gdb)
		status = attach_with(cli, a, gdb, library);
	else if (library && !why)
		kf_error(
			"%s: gdb is needed to load the library into a process: install the package gdb",
			cli->command->name);
	free(gdb);
	free(why);
	free(library);
	return status;
}

static bool has_file(const struct kf_cli *cli, int32_t pid)
{
	struct kf_cli one = *cli;
	struct kf_files files;
	bool found = false;

	one.tables = 0;
	if (kf_cli_find(&one, &files))
		return true;
	for (unsigned int i = 0; i < files.nr && !found; i++)
		found = files.file[i].life == KF_LIFE_ALIVE &&
			files.file[i].pid == pid;
	kf_files_release(&files);
	return found;
}

int kf_attach_tell_none(const char *command, int32_t pid)
{
	char comm[KF_PROC_COMM] = "", *why = kf_attach_why_none(pid, true);

	kf_proc_comm("/proc", pid, comm);
	kf_error("%s: process %d (%s) has no stats file: %s", command, pid,
		 comm, why);
	free(why);
	return KF_EXIT_NO_MATCH;
}

int kf_attach_first(const struct kf_cli *cli, int32_t pid)
{
	const struct kf_attach a = {
		.pid = pid,
		.seconds = KF_ATTACH_SECONDS,
	};
	char comm[KF_PROC_COMM] = "";

	if (!kf_proc_comm("/proc", pid, comm) || has_file(cli, pid))
		return 0;
	if (cli->attach)
		return kf_attach(cli, &a);
	return kf_attach_tell_none(cli->command->name, pid);
}
