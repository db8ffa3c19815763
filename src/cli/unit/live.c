/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where units are, and units as the running systemd has them: see unit.h.
 */
#include "config.h"

#include "cli/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* As sd_booted(3) does, or by the socket of the user's own. */
static bool is_live(bool user)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path =
		kf_format("%s/systemd/%s", user && runtime ? runtime : "/run",
			  user ? "private" : "system");
	bool live = !access(path, F_OK);

	free(path);
	return live;
}

static char *user_config(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (config && config[0] == '/')
		return kf_format("%s/systemd/user", config);
	if (home && home[0] == '/')
		return kf_format("%s/.config/systemd/user", home);
	return NULL;
}

int kf_units_open(struct kf_units *units, const char *root, bool user)
{
	struct stat st;

	*units = (struct kf_units){.root = root ? root : "/", .user = user};
	if (stat(units->root, &st) || !S_ISDIR(st.st_mode)) {
		kf_error("--root: %s: %s", root,
			 strerror(stat(root, &st) ? errno : ENOTDIR));
		return KF_EXIT_FAILED;
	}
	units->config = user ? user_config() : kf_format("/etc/systemd/system");
	if (!units->config) {
		kf_error("--user: HOME is not set");
		return KF_EXIT_FAILED;
	}
	units->live = !root && is_live(user);
	return 0;
}

void kf_units_close(struct kf_units *units)
{
	free(units->config);
}

/* All of what a pipe gives. */
static char *live_read(int fd)
{
	size_t room = 4096, len = 0;
	char *text = kf_alloc(room, 1);
	ssize_t n;

	while ((n = read(fd, text + len, room - len - 1)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
		if (len + 1 < room)
			continue;
		room *= 2;
		text = realloc(text, room);
		if (!text) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
	}
	text[len] = '\0';
	return text;
}

/* systemctl's stderr is ours. Returns its exit status, or -1. */
static int live_call(const char **argv, char **output)
{
	posix_spawn_file_actions_t actions;
	int fds[2], status, error;
	char *text;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	error = posix_spawnp(&pid, argv[0], &actions, NULL, (char **)argv,
			     environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	text = error ? NULL : live_read(fds[0]);
	close(fds[0]);
	if (error) {
		errno = error;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (output)
		*output = text;
	else
		free(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int kf_units_systemctl(const struct kf_units *units, const char *const *words,
		       char **output)
{
	const char *argv[8 + KF_NR_UNIT] = {"systemctl",
					    units->user ? "--user" : "--system",
					    "--no-pager", "--no-ask-password"};
	int n = 4, status;

	while (*words)
		argv[n++] = *words++;
	fflush(stdout);
	status = live_call(argv, output);
	if (status < 0)
		kf_error("systemctl: %s", strerror(errno));
	else if (status)
		kf_error("systemctl %s failed with status %d", argv[4], status);
	if (status > 0 && output)
		free(*output);
	return status ? -1 : 0;
}

static void live_take(struct kf_unit *unit, const char *line)
{
	static const struct {
		const char *name, *join;
	} known[KF_NR_UNIT] = {
#define KF_UNIT(id, name, file, join) {name, join},
#include "cli/unit/properties.def"
#undef KF_UNIT
	};
	size_t len = strcspn(line, "=");

	for (int i = 0; i < KF_NR_UNIT && line[len]; i++) {
		if (!strncmp(known[i].name, line, len) && !known[i].name[len])
			kf_unit_add(unit, (enum kf_unit_property)i,
				    line + len + 1, known[i].join);
	}
}

static int live_show(const struct kf_units *units, const char *name,
		     struct kf_unit *unit)
{
	static const char properties[] = "--property="
#define KF_UNIT(id, name, file, join) name ","
#include "cli/unit/properties.def"
#undef KF_UNIT
		;
	const char *const words[] = {"show", properties, "--", name, NULL};
	char *text, *line, *save = NULL;

	if (kf_units_systemctl(units, words, &text))
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		live_take(unit, line);
	free(text);
	unit->expanded = true;
	return 0;
}

/* systemctl shows no template, as it is no unit. */
static bool live_is_template(const char *name)
{
	return strstr(name, "@.service") != NULL;
}

int kf_unit_look(const struct kf_units *units, const char *name,
		 struct kf_unit *unit)
{
	*unit = (struct kf_unit){0};
	for (int i = 0; i < KF_NR_UNIT; i++)
		unit->value[i] = kf_format("%s", "");
	if (!units->live || live_is_template(name))
		return kf_unit_read_files(units, name, unit);
	if (live_show(units, name, unit))
		return -1;
	return strcmp(unit->value[KF_UNIT_load_state], "not-found") != 0;
}

int kf_unit_read(const struct kf_units *units, const char *name,
		 struct kf_unit *unit)
{
	const char *problem = NULL;
	int is = kf_unit_look(units, name, unit);

	if (is < 0)
		return -1;
	if (!is)
		problem = "there is no such unit";
	else if (!strcmp(unit->value[KF_UNIT_load_state], "masked"))
		problem = "the unit is masked";
	if (problem)
		kf_error("%s: %s", name, problem);
	return problem ? -1 : 0;
}
