// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * launch [-m] OUTPUT SECONDS PRELOAD COMMAND ARGUMENT...
 *
 * Run a command, with the library PRELOAD unless that is empty, its output into
 * the file OUTPUT, and say on one line what it took:
 *
 *	WALL_NS USER_US SYSTEM_US PEAK_KIB exit|signal|limit NUMBER
 *
 * Time and memory are of the command and of all that it waited for; the memory
 * is that of the biggest process among them. What it leaves behind is killed,
 * as is all of it when the seconds are over. With -m a second line says what
 * memory the command had over time (bench/watch.h).
 *
 * The runner cannot do this itself: a process begins with the peak memory of
 * the one that forked it, and a python is larger than what is measured here.
 */
#include "bench/watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	_exit(127);
}

static void __attribute__((noreturn))
become(const char *output, const char *preload, char **argv, sigset_t *old)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (in < 0 || out < 0)
		fail(output);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	sigprocmask(SIG_SETMASK, old, NULL);
	dup2(in, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (*preload && setenv("LD_PRELOAD", preload, 1))
		fail("LD_PRELOAD");
	execvp(argv[0], argv);
	fail(argv[0]);
}

/* Wait for the child; false: the time was over, or a signal ended us. */
static bool ended_in_time(pid_t child, int64_t end, const sigset_t *wanted,
			  bool watched)
{
	siginfo_t info;

	for (;;) {
		int64_t left = end - now_ns();
		struct timespec t;

		info.si_pid = 0;
		if (!waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid == child)
			return true;
		if (left <= 0)
			return false;
		if (watched && left > WATCH_NS)
			left = WATCH_NS;
		t.tv_sec = left / 1000000000;
		t.tv_nsec = left % 1000000000;
		switch (sigtimedwait(wanted, NULL, &t)) {
		case SIGCHLD:
			break;
		case -1:
			if (watched)
				watch_look(child);
			break;
		default:
			return false;
		}
	}
}

/* Whoever loses its parent is ours, as we are the subreaper. */
static bool kill_children(void)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	long pid;

	if (!f)
		return false;
	while (fscanf(f, "%ld", &pid) == 1)
		kill((pid_t)pid, SIGKILL);
	fclose(f);
	return true;
}

static void end_all(void)
{
	pid_t pid;

	do {
		/* A kernel that does not tell: do not wait for what lives. */
		pid = waitpid(-1, NULL, kill_children() ? 0 : WNOHANG);
	} while (pid > 0);
}

static void say(int64_t wall, const struct rusage *use, bool in_time,
		int status)
{
	const char *how = "exit";
	int number = WEXITSTATUS(status);

	if (!in_time) {
		how = "limit";
		number = 0;
	} else if (WIFSIGNALED(status)) {
		how = "signal";
		number = WTERMSIG(status);
	}
	printf("%" PRId64 " %" PRId64 " %" PRId64 " %ld %s %d\n", wall,
	       (int64_t)use->ru_utime.tv_sec * 1000000 + use->ru_utime.tv_usec,
	       (int64_t)use->ru_stime.tv_sec * 1000000 + use->ru_stime.tv_usec,
	       use->ru_maxrss, how, number);
}

int main(int argc, char **argv)
{
	sigset_t wanted, old;
	struct rusage use;
	int64_t start, end;
	bool in_time, watched;
	int status;
	pid_t child;

	watched = argc > 1 && !strcmp(argv[1], "-m");
	argc -= watched;
	argv += watched;
	if (argc < 5 || strtol(argv[2], NULL, 10) <= 0) {
		fputs("usage: launch [-m] OUTPUT SECONDS PRELOAD COMMAND...\n",
		      stderr);
		return 2;
	}
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	sigprocmask(SIG_BLOCK, &wanted, &old);
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	start = now_ns();
	end = start + strtol(argv[2], NULL, 10) * INT64_C(1000000000);
	child = fork();
	if (child < 0) {
		perror("fork");
		return 1;
	}
	if (!child)
		become(argv[1], argv[3], argv + 4, &old);
	in_time = ended_in_time(child, end, &wanted, watched);
	if (!in_time)
		kill(-child, SIGKILL);
	while (wait4(child, &status, 0, &use) != child)
		;
	end = now_ns();
	end_all();
	say(end - start, &use, in_time, status);
	if (watched)
		watch_say();
	return 0;
}
