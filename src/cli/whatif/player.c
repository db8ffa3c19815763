/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs the replayer once, and reads its answer from a pipe.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/whatif/whatif.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const touches[] = {"all", "first", "none"};

/* In a build tree beside the command, else where packages have it. */
static char *replayer_path(void)
{
	char *tree = kf_build_tree();
	char *path = kf_format("%s/konfiscator-replay",
			       tree ? tree : KF_PKGLIBEXECDIR);

	free(tree);
	return path;
}

/* Whether a variable of the environment is replaced, or removed. */
static bool env_has(char *const *env, const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (; *env; env++) {
		if (strcspn(*env, "=") == len && !strncmp(*env, variable, len))
			return true;
	}
	return false;
}

static char **env_make(char *const *env)
{
	size_t nr = 0, i = 0;
	char **all;

	while (environ[nr])
		nr++;
	for (char *const *e = env; *e; e++)
		nr++;
	all = kf_alloc(nr + 1, sizeof(*all));
	for (char **e = environ; *e; e++) {
		if (!env_has(env, *e))
			all[i++] = *e;
	}
	for (; *env; env++) {
		if (strchr(*env, '='))
			all[i++] = *env;
	}
	return all;
}

/* @out is above stderr: dup2() lets it stay open in the child. */
static int player_spawn(const struct kf_player *p, char *const *env, int out,
			pid_t *pid)
{
	char *path = replayer_path(), **all = env_make(env);
	char *script = kf_format("%d", p->script->fd);
	char *pipe_end = kf_format("%d", out);
	const char *mode = p->dry && p->paced ? "dp"
			   : p->dry	      ? "d"
			   : p->paced	      ? "p"
					      : "-";
	const char *argv[] = {path, script, pipe_end, touches[p->touch],
			      mode, NULL};
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, p->script->fd,
					 p->script->fd);
	posix_spawn_file_actions_adddup2(&actions, out, out);
	if (p->quiet)
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
						 "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(pid, path, &actions, NULL, (char *const *)argv, all);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		kf_error("%s: %s", path, strerror(rc));
	free(all);
	free(path);
	free(script);
	free(pipe_end);
	return rc;
}

/* Whether all bytes came. */
static bool player_read(int fd, void *data, size_t size)
{
	char *p = data;
	ssize_t n;

	while (size) {
		n = read(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

static bool player_read_all(int fd, const struct kf_player *p,
			    struct kf_played *played)
{
	struct kf_script_memory m;

	if (!player_read(fd, &played->begin, sizeof(played->begin)) ||
	    played->begin.magic != KF_SCRIPT_MAGIC)
		return false;
	played->begin.malloc_from[sizeof(played->begin.malloc_from) - 1] = '\0';
	for (uint32_t i = 0; i < p->script->head.nr_samples; i++) {
		if (!player_read(fd, &m, sizeof(m)))
			return false;
		played->resident[i] = m.resident;
	}
	return player_read(fd, &played->end, sizeof(played->end));
}

static void player_tell(const struct kf_player *p, const char *name, int status)
{
	if (p->quiet)
		return;
	if (WIFSIGNALED(status))
		kf_error("the replay under %s was ended by signal %d "
			 "(%s)",
			 name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		kf_error("the replay under %s ended with status %d", name,
			 WEXITSTATUS(status));
}

int kf_player_run(const struct kf_player *player, char *const *env,
		  const char *name, struct kf_played *played)
{
	int fds[2], status = 0;
	bool whole;
	pid_t pid;

	memset(played, 0, sizeof(*played));
	if (pipe2(fds, O_CLOEXEC)) {
		kf_error("pipe: %s", strerror(errno));
		return -1;
	}
	if (player_spawn(player, env, fds[1], &pid)) {
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	close(fds[1]);
	whole = player_read_all(fds[0], player, played);
	close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (whole && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	player_tell(player, name, status);
	return -1;
}
