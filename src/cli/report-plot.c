/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures, drawn by gnuplot: its commands and data go to it through a pipe,
 * and what it draws comes out on its stdout, which is the file.
 */
#include "config.h"

#include "cli/report.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct {
	const char *suffix;
	const char *terminal;
} kinds[] = {
	{".png", "pngcairo noenhanced size 1200,675 font 'sans,11'"},
	{".svg", "svg noenhanced size 1200,675 font 'sans,14' background "
		 "'white'"},
	{".pdf", "pdfcairo noenhanced size 24cm,13.5cm font 'sans,11'"},
};

static const char *terminal_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < KF_ARRAY_SIZE(kinds); i++) {
		if (!strcasecmp(dot, kinds[i].suffix))
			return kinds[i].terminal;
	}
	return NULL;
}

bool kf_plot_is_picture(const char *path)
{
	return terminal_of(path);
}

void kf_plot_text(FILE *gnuplot, const char *text)
{
	char safe[1024];

	fputc('\'', gnuplot);
	for (const char *p = kf_escape(safe, sizeof(safe), text); *p; p++) {
		if (*p == '\'')
			fputc('\'', gnuplot);
		fputc(*p, gnuplot);
	}
	fputc('\'', gnuplot);
}

struct kf_unit kf_unit_time(uint64_t ns)
{
	static const struct kf_unit units[] = {
		{"ns", 1}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t i = 0;

	while (i + 1 < KF_ARRAY_SIZE(units) &&
	       (double)ns >= 10 * units[i + 1].scale)
		i++;
	return units[i];
}

struct kf_unit kf_unit_bytes(uint64_t bytes)
{
	static const struct kf_unit units[] = {{"bytes", 1},
					       {"KiB", 1024.0},
					       {"MiB", 1048576.0},
					       {"GiB", 1073741824.0},
					       {"TiB", 1099511627776.0}};
	size_t i = 0;

	while (i + 1 < KF_ARRAY_SIZE(units) &&
	       (double)bytes >= 4 * units[i + 1].scale)
		i++;
	return units[i];
}

/* gnuplot with @out as its stdout; returns its pid and a pipe to its stdin. */
static pid_t start(int out, FILE **pipe_to)
{
	static const char *const argv[] = {"gnuplot", "-d", "-", NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], rc;
	pid_t pid;

	if (pipe(fds)) {
		kf_error("report: pipe: %s", strerror(errno));
		return -1;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, fds[1]);
	posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (fds[0] != STDIN_FILENO)
		posix_spawn_file_actions_addclose(&actions, fds[0]);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv,
			  environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[0]);
	*pipe_to = rc ? NULL : fdopen(fds[1], "w");
	if (*pipe_to)
		return pid;
	close(fds[1]);
	if (rc == ENOENT)
		kf_error("report: gnuplot draws the pictures and is not "
			 "installed: install gnuplot-nox");
	else
		kf_error("report: gnuplot: %s", strerror(rc ? rc : ENOMEM));
	return -1;
}

static int status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	if (status)
		kf_error("report: gnuplot could not draw the picture");
	return status ? -1 : 0;
}

int kf_plot(struct kf_report *r)
{
	struct kf_output o;
	FILE *gnuplot;
	pid_t pid;
	int rc;

	if (kf_output_open(&o, r->output))
		return KF_EXIT_FAILED;
	/* its end is told by its status */
	signal(SIGPIPE, SIG_IGN);
	pid = start(fileno(o.file), &gnuplot);
	rc = pid < 0 ? -1 : 0;
	if (!rc) {
		fprintf(gnuplot, "set terminal %s\n", terminal_of(r->output));
		r->view->draw(r, gnuplot);
		fclose(gnuplot);
		rc = status_of(pid);
	}
	if (kf_output_close(&o, !rc))
		rc = -1;
	return rc ? KF_EXIT_FAILED : KF_EXIT_OK;
}
