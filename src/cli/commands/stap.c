/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A script under SystemTap, which starts the program itself once it is ready.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/program.h"
#include "cli/commands/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int kf_trace_stap(const struct kf_trace *t)
{
	char **words = kf_alloc(t->nr_args + 10, sizeof(*words));
	char number[16];
	size_t n = 0;
	int unused;
	char *tool = kf_program_find("stap", &unused);

	if (!tool) {
		kf_error("trace: stap is not installed");
		return KF_EXIT_FAILED;
	}
	snprintf(number, sizeof(number), "%d", t->pid);
	words[n++] = tool;
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
	fflush(NULL);
	execv(tool, words);
	kf_error("trace: %s: %s", tool, strerror(errno));
	return KF_EXIT_FAILED;
}
