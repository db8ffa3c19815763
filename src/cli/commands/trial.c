/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trial runs of programs: see doctor.h.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/doctor.h"
#include "cli/library.h"
#include "cli/commands/trace.h"
#include "reader/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t trial_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Reads until the end, or until the time is over; returns whether it is. */
static bool trial_read(int fd, char *buf, size_t size, int limit_ms)
{
	struct pollfd p = {fd, POLLIN, 0};
	int64_t end = trial_now_ms() + limit_ms;
	size_t len = 0;
	bool over = false;
	char drop[256];

	for (;;) {
		bool full = len == size - 1;
		int64_t left = end - trial_now_ms();
		ssize_t n;

		over = limit_ms && (left <= 0 || !poll(&p, 1, (int)left));
		if (over)
			break;
		n = read(fd, full ? drop : buf + len,
			 full ? sizeof(drop) : size - 1 - len);
		if (!n || (n < 0 && errno != EINTR))
			break;
		len += full || n < 0 ? 0 : (size_t)n;
	}
	buf[len] = '\0';
	return over;
}

int kf_trial_capture(char **argv, char *buf, size_t size, int limit_ms)
{
	int fds[2];
	pid_t pid;

	buf[0] = '\0';
	if (pipe2(fds, O_CLOEXEC))
		return KF_EXIT_FAILED;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		execv(argv[0], argv);
		_exit(KF_EXIT_NOT_FOUND);
	}
	close(fds[1]);
	if (pid > 0 && trial_read(fds[0], buf, size, limit_ms)) {
		setpgid(pid, pid);
		kill(-pid, SIGKILL);
	}
	close(fds[0]);
	return pid > 0 ? kf_child_status(pid) : KF_EXIT_FAILED;
}

char *kf_tool_version(const char *path)
{
	char *argv[] = {(char *)path, (char *)"--version", NULL};
	char text[1024];

	if (kf_trial_capture(argv, text, sizeof(text), 0))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text[0] ? kf_format("%s", text) : NULL;
}

static void __attribute__((format(printf, 2, 0)))
set_problem(struct kf_trial *trial, const char *fmt, const char *what)
{
	snprintf(trial->problem, sizeof(trial->problem), fmt, what);
}

static int remove_ledger(void *ctx, const char *name)
{
	return unlinkat(*(int *)ctx, name, 0);
}

static void remove_ledgers(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	kf_ledgers_visit(fd, remove_ledger, &fd);
	close(fd);
}

/* Reads the stats file that the trial left in @dir, and removes it. */
static int read_result(struct kf_trial *trial, const char *dir)
{
	const char *dirs[] = {dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;
	int rc = -1;

	if (kf_files_find(&find, &files)) {
		set_problem(trial, "the stats file cannot be read: %s",
			    strerror(errno));
		return -1;
	}
	if (!files.nr)
		set_problem(trial, "%s",
			    "/bin/true ran and left no stats file");
	for (unsigned int i = 0; i < files.nr; i++) {
		const struct kf_snapshot *s = &files.file[i].snap;
		char *path = kf_format("%s/%s", dir, files.file[i].name);

		unlink(path);
		free(path);
		rc = s->result == KF_READ_OK ? 0 : -1;
		if (rc)
			set_problem(trial, "its stats file is %s",
				    kf_read_result_name(s->result));
	}
	kf_files_release(&files);
	return rc;
}

/* A line of the library's start message, without its prefix. */
static char *trial_said(char *text, const char *begin)
{
	char *at = strstr(text, begin);

	if (!at)
		return NULL;
	at += strlen(begin);
	at[strcspn(at, "\n")] = '\0';
	return at;
}

static void remove_file(const char *path)
{
	const char *name;
	int dirfd = kf_place_of(path, &name);
	struct stat st;

	if (dirfd < 0)
		return;
	if (!fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		kf_place_delete(dirfd, name, (uint64_t)st.st_dev,
				(uint64_t)st.st_ino);
	close(dirfd);
}

/* The directory of the stats file in the library's message. */
static char *take_place(struct kf_trial *trial, char *text)
{
	char *path = trial_said(text, "konfiscator: stats file ");
	char *why =
		path ? NULL : trial_said(text, "konfiscator: no stats file: ");

	if (path) {
		remove_file(path);
		return kf_format("%.*s", (int)(strrchr(path, '/') - path),
				 path);
	}
	set_problem(trial, "programs create no stats file: %s",
		    why ? why : "/bin/true does not run under the library");
	return NULL;
}

char *kf_trial_place(struct kf_trial *trial, const char *library,
		     const char *dir)
{
	char *safe = kf_library_safe(library);
	char *preload = kf_format("LD_PRELOAD=%s", safe ? safe : "");
	char *place = dir ? kf_format("KONFISCATOR_DIR=%s", dir)
			  : kf_format("KONFISCATOR_VERBOSE=1");
	char text[8192], *found = NULL;

	*trial = (struct kf_trial){{0}};
	if (!safe) {
		set_problem(trial, "cannot create a directory in /tmp: %s",
			    strerror(errno));
	} else {
		kf_trial_capture((char *[]){(char *)"/usr/bin/env", preload,
					    place, (char *)"KONFISCATOR_KEEP=1",
					    (char *)"KONFISCATOR_VERBOSE=1",
					    (char *)"/bin/true", NULL},
				 text, sizeof(text), 0);
		found = take_place(trial, text);
	}
	free(place);
	free(preload);
	free(safe);
	return found;
}

int kf_trial_run(struct kf_trial *trial, const char *library)
{
	char *dir = kf_format("%s", "/tmp/konfiscator-doctor.XXXXXX");
	char *safe = kf_library_safe(library);
	char *preload = kf_format("LD_PRELOAD=%s", safe ? safe : "");
	char *place = NULL;
	char text[256];
	int status, rc = -1;

	*trial = (struct kf_trial){{0}};
	if (!safe || !mkdtemp(dir)) {
		set_problem(trial, "cannot create a directory in /tmp: %s",
			    strerror(errno));
	} else {
		place = kf_format("KONFISCATOR_DIR=%s", dir);
		status = kf_trial_capture(
			(char *[]){(char *)"/usr/bin/env", preload, place,
				   (char *)"KONFISCATOR_KEEP=1",
				   (char *)"/bin/true", NULL},
			text, sizeof(text), 0);
		text[strcspn(text, "\n")] = '\0';
		rc = read_result(trial, dir);
		remove_ledgers(dir);
		if (status || text[0]) {
			set_problem(trial,
				    "/bin/true failed under the library: %s",
				    text[0] ? text : "no message");
			rc = -1;
		}
		rmdir(dir);
	}
	free(place);
	free(preload);
	free(safe);
	free(dir);
	return rc;
}
