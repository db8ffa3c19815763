/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A script under SystemTap, which starts the program itself once it is ready.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/program.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Quotes a word for the shell: SystemTap passes the command to sh -c. */
static char *stap_quote(const char *word)
{
	char *out = kf_alloc(4 * strlen(word) + 3, 1), *at = out;

	*at++ = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(at, "'\\'", 3);
			at += 3;
		}
		*at++ = *word;
	}
	*at = '\'';
	return out;
}

static char *stap_preloaded(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload = kf_format("LD_PRELOAD=%s%s%s", library,
				  old && old[0] ? ":" : "", old ? old : "");
	char *word = stap_quote(preload);
	char *line = kf_format("/usr/bin/env %s", word);

	free(word);
	free(preload);
	return line;
}

static char *command_line(const struct kf_trace *t)
{
	char *line = t->preload ? stap_preloaded(t->preload)
				: kf_format("/usr/bin/env");
	char *word;

	for (char **arg = t->argv; *arg; arg++) {
		char *more;

		word = stap_quote(*arg);
		more = kf_format("%s %s", line, word);
		free(word);
		free(line);
		line = more;
	}
	return line;
}

/* The directory of the tapset: stap itself searches below /usr only. */
static char *tapset_dir(void)
{
	char *tree = kf_build_tree();
	char *dir = tree ? kf_format("%s/probes", tree)
			 : kf_format("%s", KF_TAPSETDIR);

	free(tree);
	return dir;
}

/* What stap says goes on to stderr; a known error is told in a line instead. */
static void stap_listen(const struct kf_trace *t, int fd)
{
	FILE *from = fdopen(fd, "re");
	char *line = NULL, *why = NULL;
	size_t size = 0;

	while (from && getline(&line, &size, from) > 0) {
		if (!kf_stap_explain(line, &why) || t->cli->verbose)
			fputs(line, stderr);
	}
	if (why)
		kf_error("trace: %s", why);
	free(why);
	free(line);
	if (from)
		fclose(from);
}

/*
 * Compiles the script, whose module stap keeps for the run: the program's own
 * stderr is not the one that is read here. Returns stap's exit status.
 */
static int stap_compile(const struct kf_trace *t, char **words)
{
	int said = memfd_create("stap", MFD_CLOEXEC), status;
	pid_t pid;

	fflush(NULL);
	pid = said < 0 ? -1 : fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
		    dup2(said, STDERR_FILENO) >= 0)
			execv(words[0], words);
		_exit(KF_EXIT_FAILED);
	}
	status = pid < 0 ? KF_EXIT_FAILED : kf_child_status(pid);
	if (status && pid > 0 && !lseek(said, 0, SEEK_SET))
		stap_listen(t, said);
	else if (said >= 0)
		close(said);
	if (pid < 0)
		kf_error("trace: %s: %s", words[0], strerror(errno));
	return status;
}

int kf_trace_stap(const struct kf_trace *t)
{
	int unused, status;
	char *tool = kf_program_find("stap", &unused);
	char number[16], **words;
	size_t n = 0;

	if (!tool) {
		kf_error("trace: stap is not installed");
		return KF_EXIT_FAILED;
	}
	words = kf_alloc(t->nr_args + 11, sizeof(*words));
	snprintf(number, sizeof(number), "%d", t->pid);
	words[n++] = tool;
	words[n++] = kf_format("-p4");
	words[n++] = kf_format("-I");
	words[n++] = tapset_dir();
	if (t->argv) {
		words[n++] = kf_format("-c");
		words[n++] = command_line(t);
	} else if (t->pid) {
		words[n++] = kf_format("-x");
		words[n++] = number;
	}
	words[n++] = t->script;
	words[n++] = t->library;
	if (t->pid || t->nr_args)
		words[n++] = number;
	for (size_t i = 0; i < t->nr_args; i++)
		words[n++] = kf_format("%s", t->args[i]);
	status = stap_compile(t, words);
	if (status)
		return status;
	words[1] = tool;
	fflush(NULL);
	execv(tool, words + 1);
	kf_error("trace: %s: %s", tool, strerror(errno));
	return KF_EXIT_FAILED;
}
