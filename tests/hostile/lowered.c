// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lowered HOW USER DIR: what daemons do with their users. The stats file is
 *made while USER is the effective user; then, by HOW:
 *
 *	fork	the child of a process that lowered it is root again
 *	real	likewise, but its real user stays USER
 *	kept	USER for good, with the right to pass over permissions
 *	drop	USER for good
 *	lower	USER is the effective user still
 *
 * DIR/ready says so, and until DIR/end is there it takes slow paths, so that
 * orders are carried out.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (8u << 20)

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void allocate(void)
{
	char *p = malloc(LARGE);

	need(p != NULL, "malloc");
	memset(p, 1, 1);
	free(p);
}

static void keep_capability(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2] = {
		{.effective = 1u << CAP_DAC_OVERRIDE,
		 .permitted = 1u << CAP_DAC_OVERRIDE},
	};

	need(!syscall(SYS_capset, &head, caps), "capset");
}

static void become_for_good(const char *how, uid_t user)
{
	bool keep = !strcmp(how, "kept");

	need(!prctl(PR_SET_KEEPCAPS, keep), "prctl");
	/* Who lowered the effective user alone is root again by that. */
	need(!seteuid(0) && !setresuid(user, user, user), "setresuid");
	if (keep)
		keep_capability();
}

static void become(const char *how, uid_t user)
{
	if (!strcmp(how, "fork"))
		need(!setresuid(0, 0, 0), "setresuid");
	else if (!strcmp(how, "real"))
		need(!setresuid(user, 0, 0), "setresuid");
	else if (!strcmp(how, "lower"))
		return;
	else
		become_for_good(how, user);
}

static int live(const char *how, uid_t user)
{
	pid_t parent = getppid();

	/* As the user: this makes the file. */
	allocate();
	become(how, user);
	need(close(open("ready", O_CREAT | O_WRONLY, 0644)) == 0, "ready");
	while (access("end", F_OK) && getppid() == parent) {
		allocate();
		usleep(2000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uid_t user = argc == 4 ? (uid_t)strtoul(argv[2], NULL, 10) : 0;
	int status;
	pid_t pid;

	need(user && !chdir(argv[3]), "usage: lowered HOW USER DIR");
	need(!seteuid(user), "seteuid");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid)
		return live(argv[1], user);
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
