/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs the cases of a program, each in a process of its own, and says in TAP
 * what became of them.
 *
 * The runner itself keeps the malloc it was started with; only the cases get
 * the library of --preload. A case that crashes, hangs or fails is one line
 * "not ok". Cases named selftest_* show that the runner sees such cases: they
 * are run by --self-test alone, and each of them has to fail.
 *
 * Exit status: 0 all passed, 1 some did not, 2 wrong usage.
 */
#include "case.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_SECONDS 180

extern const struct kf_case __start_kf_cases[], __stop_kf_cases[];

struct run {
	const char *preload;
	unsigned int seconds;
	unsigned int passed, failed, skipped;
};

static const struct option options[] = {
	{"preload", required_argument, NULL, 'p'},
	{"seconds", required_argument, NULL, 's'},
	{"case", required_argument, NULL, 'c'},
	{"list", no_argument, NULL, 'l'},
	{"self-test", no_argument, NULL, 't'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void usage(FILE *to, const char *self)
{
	fprintf(to,
		"usage: %s [--preload LIBRARY] [--seconds N] [--self-test]\n"
		"       %s --case NAME | --list | --help\n",
		self, self);
}

static bool is_selftest(const struct kf_case *c)
{
	return !strncmp(c->name, "selftest_", 9);
}

static void child(const struct kf_case *c, const struct run *run)
{
	setpgid(0, 0);
	if (run->preload && setenv("LD_PRELOAD", run->preload, 1))
		_exit(126);
	/* What a case prints must not look like the runner's answer. */
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	alarm(run->seconds);
	execl("/proc/self/exe", program_invocation_name, "--case", c->name,
	      (char *)NULL);
	_exit(126);
}

static int run_in_child(const struct kf_case *c, const struct run *run)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid)
		child(c, run);
	setpgid(pid, pid);
	if (waitpid(pid, &status, 0) != pid) {
		perror("waitpid");
		exit(1);
	}
	kill(-pid, SIGKILL);
	return status;
}

static void report(const struct kf_case *c, unsigned int nr, int status,
		   struct run *run)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		printf("ok %u - %s\n", nr, c->name);
		run->passed++;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("ok %u - %s # SKIP\n", nr, c->name);
		run->skipped++;
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		printf("not ok %u - %s # hung\n", nr, c->name);
		run->failed++;
	} else if (WIFSIGNALED(status)) {
		printf("not ok %u - %s # %s\n", nr, c->name,
		       strsignal(WTERMSIG(status)));
		run->failed++;
	} else {
		printf("not ok %u - %s\n", nr, c->name);
		run->failed++;
	}
}

static int run_all(struct run *run, bool selftest)
{
	unsigned int nr = 0;

	for (const struct kf_case *c = __start_kf_cases; c < __stop_kf_cases;
	     c++)
		if (is_selftest(c) == selftest)
			report(c, ++nr, run_in_child(c, run), run);
	printf("1..%u\n", nr);
	printf("# %u cases: %u passed, %u failed, %u skipped\n", nr,
	       run->passed, run->failed, run->skipped);
	if (fflush(stdout) || ferror(stdout))
		return 1;
	if (selftest)
		return nr && run->failed == nr ? 0 : 1;
	return nr && !run->failed ? 0 : 1;
}

static int run_one(const char *name)
{
	for (const struct kf_case *c = __start_kf_cases; c < __stop_kf_cases;
	     c++) {
		if (strcmp(c->name, name))
			continue;
		c->run();
		return 0;
	}
	fprintf(stderr, "no case has the name %s; --list shows them\n", name);
	return 2;
}

static int list(void)
{
	for (const struct kf_case *c = __start_kf_cases; c < __stop_kf_cases;
	     c++)
		if (!is_selftest(c))
			puts(c->name);
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct run run = {.seconds = DEFAULT_SECONDS};
	bool selftest = false;
	int opt;

	/* No getopt for a case: it should find its process untouched. */
	if (argc == 3 && !strcmp(argv[1], "--case"))
		return run_one(argv[2]);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			run.preload = optarg;
			break;
		case 's':
			run.seconds = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			return run_one(optarg);
		case 'l':
			return list();
		case 't':
			selftest = true;
			break;
		case 'h':
			usage(stdout, argv[0]);
			return 0;
		default:
			usage(stderr, argv[0]);
			return 2;
		}
	}
	if (optind != argc || !run.seconds) {
		usage(stderr, argv[0]);
		return 2;
	}
	return run_all(&run, selftest);
}

CASE(selftest_check_that_does_not_hold)
{
	CHECK_EQ(kf_size(1), 2);
}

CASE(selftest_crash)
{
	raise(SIGSEGV);
}

CASE(selftest_hang)
{
	for (;;)
		pause();
}
