/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The traced program: it is forked before the tracer starts, so that its pid is
 * known, and calls exec only when the tracer is ready.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void __attribute__((noreturn))
child_main(int wait_fd, char **argv, const char *library)
{
	sigset_t none;
	char byte;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(wait_fd, &byte, 1) != 1)
		_exit(KF_EXIT_RUN_FAILED);
	close(wait_fd);
	if (library && kf_library_preload(library))
		_exit(KF_EXIT_RUN_FAILED);
	execvp(argv[0], argv);
	kf_error("trace: %s: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? KF_EXIT_NOT_FOUND : KF_EXIT_NOT_EXECUTABLE);
}

int kf_child_hold(struct kf_child *c, char **argv, const char *library)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		kf_error("trace: pipe: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	c->pid = fork();
	if (c->pid < 0) {
		kf_error("trace: fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	if (!c->pid) {
		close(fds[1]);
		child_main(fds[0], argv, library);
	}
	close(fds[0]);
	c->go = fds[1];
	return 0;
}

void kf_child_go(struct kf_child *c)
{
	/* if the child has ended, its exit status is reported */
	if (write(c->go, "g", 1) != 1)
		kf_error("trace: the program ended before it was traced");
	close(c->go);
	c->go = -1;
}

void kf_child_drop(struct kf_child *c)
{
	if (c->go >= 0)
		close(c->go);
	c->go = -1;
	kf_child_status(c->pid);
}

int kf_child_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return KF_EXIT_FAILED;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static bool same_mounts(int32_t pid)
{
	char *path = kf_format("/proc/%d/ns/mnt", pid);
	struct stat theirs, ours;
	bool same = !stat(path, &theirs) && !stat("/proc/self/ns/mnt", &ours) &&
		    theirs.st_ino == ours.st_ino;

	free(path);
	return same;
}

static bool is_glibc(const char *slash)
{
	return !strncmp(slash, "/libc.so.6", 10) ||
	       !strncmp(slash, "/libc-2.", 8);
}

static bool child_var_is_ours(const char *slash)
{
	return !strncmp(slash, "/libkonfiscator", 15) &&
	       !strstr(slash, "-alone");
}

/* The library's path in a line of maps, or NULL. */
static char *library_in(char *line, bool glibc)
{
	char *path = strchr(line, '/');
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash || !(glibc ? is_glibc(slash) : child_var_is_ours(slash)))
		return NULL;
	path[strcspn(path, "\n")] = '\0';
	return path;
}

char *kf_library_of(int32_t pid, bool glibc)
{
	char *maps = kf_format("/proc/%d/maps", pid);
	char *line = NULL, *found = NULL, *path = NULL;
	FILE *f = fopen(maps, "re");
	size_t size = 0;

	free(maps);
	if (!f) {
		kf_error("trace: process %d: %s", pid, strerror(errno));
		return NULL;
	}
	while (!path && getline(&line, &size, f) > 0)
		path = library_in(line, glibc);
	fclose(f);
	if (!path)
		kf_error("trace: process %d does not run %s", pid,
			 glibc ? "with the GNU C library"
			       : "under konfiscator");
	else if (strstr(path, " (deleted)"))
		kf_error("trace: process %d: its library was replaced since it "
			 "started: restart it",
			 pid);
	else if (same_mounts(pid))
		found = kf_format("%s", path);
	else
		found = kf_format("/proc/%d/root%s", pid, path);
	free(line);
	return found;
}
