/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pager, as git has it: the program of KONFISCATOR_PAGER or PAGER, or less,
 * which ends at once if all fits on the screen.
 */
#include "config.h"

#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define USUAL_WIDTH 80
#define USUAL_PAGER "less"
#define USUAL_LESS "FRX" /* end if all fits, keep colours and the screen */
#define SHELL_CHARACTERS "|&;<>()$`\\\"' \t\n*?[#~=%"

extern char **environ;

static pid_t pager_pid; /* 0: none */
static bool pager_has_stderr;

int kf_terminal_width(void)
{
	static bool known;
	static int width;
	struct winsize size = {0};

	if (!known && isatty(STDOUT_FILENO)) {
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
		width = size.ws_col ? size.ws_col : USUAL_WIDTH;
	}
	known = true;
	return width;
}

/* The user's pager; NULL: none is wanted. */
static const char *pager_name(void)
{
	const char *name = getenv("KONFISCATOR_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = USUAL_PAGER;
	return name[0] && strcmp(name, "cat") != 0 ? name : NULL;
}

static int pager_spawn(const char *name, const int fds[2])
{
	bool simple = !strpbrk(name, SHELL_CHARACTERS);
	const char *const shell[] = {"sh", "-c", name, NULL};
	const char *const alone[] = {name, NULL};
	const char *const *argv = simple ? alone : shell;
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);
	rc = posix_spawnp(&pager_pid, argv[0], &actions, NULL,
			  (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static void pager_end(void)
{
	fflush(stdout);
	close(STDOUT_FILENO);
	if (pager_has_stderr)
		close(STDERR_FILENO);
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* From here on the pager ends the output, not a signal of the terminal. */
static void pager_take_output(int fd)
{
	pager_has_stderr = isatty(STDERR_FILENO);
	dup2(fd, STDOUT_FILENO);
	if (pager_has_stderr)
		dup2(fd, STDERR_FILENO);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	atexit(pager_end);
}

void kf_pager_start(const struct kf_cli *cli)
{
	const char *name = pager_name();
	static bool tried;
	int fds[2], rc;

	if (tried || !cli->command || !cli->command->pages || cli->no_pager ||
	    !kf_terminal_width() || !name)
		return;
	tried = true;
	fflush(stdout);
	if (pipe2(fds, O_CLOEXEC))
		return;
	setenv("LESS", USUAL_LESS, 0);
	rc = pager_spawn(name, fds);
	if (!rc)
		pager_take_output(fds[1]);
	else if (rc != ENOENT || strcmp(name, USUAL_PAGER) != 0)
		kf_note(cli, "the pager %s cannot be run: %s", name,
			strerror(rc));
	close(fds[0]);
	close(fds[1]);
}

bool kf_pager_is_on(void)
{
	return pager_pid;
}
