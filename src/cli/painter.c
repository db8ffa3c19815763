/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs that draw pictures: their input goes through a pipe, and their
 * stdout is the output file.
 */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int painter_spawn(struct kf_painter *p, const int fds[2], int out)
{
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, fds[1]);
	posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (fds[0] != STDIN_FILENO)
		posix_spawn_file_actions_addclose(&actions, fds[0]);
	rc = posix_spawnp(&p->pid, p->argv[0], &actions, NULL,
			  (char *const *)p->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int kf_painter_start(struct kf_painter *p, int out)
{
	int fds[2], rc;

	signal(SIGPIPE, SIG_IGN);
	if (pipe(fds)) {
		kf_error("pipe: %s", strerror(errno));
		return -1;
	}
	rc = painter_spawn(p, fds, out);
	close(fds[0]);
	p->in = rc ? NULL : fdopen(fds[1], "w");
	if (p->in)
		return 0;
	close(fds[1]);
	if (rc == ENOENT)
		kf_error("%s is needed for pictures and is not installed: "
			 "install %s",
			 p->argv[0], p->package);
	else
		kf_error("%s: %s", p->argv[0], strerror(rc ? rc : ENOMEM));
	return -1;
}

int kf_painter_end(struct kf_painter *p)
{
	int status;

	fclose(p->in);
	while (waitpid(p->pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	if (status)
		kf_error("%s could not draw the picture", p->argv[0]);
	return status ? -1 : 0;
}
