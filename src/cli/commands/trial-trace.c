/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trial runs of the tracers: a probe of the library is attached, a program
 * fires it, and the tracer has to tell of that. See doctor.h.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/doctor.h"
#include "cli/commands/trace.h"
#include "cli/library.h"
#include "cli/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BPFTRACE_MS 30000
#define STAP_MS 60000 /* it runs a compiler */

/* What both scripts print of a program that allocates. */
#define SEEN "New heap"

/* The first line of a tracer's own that says something. */
static void trial_take_line(struct kf_trial *trial, char *text)
{
	char safe[sizeof(trial->problem)];
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!*line || kf_bpftrace_is_noise(line))
			continue;
		snprintf(trial->problem, sizeof(trial->problem), "%s",
			 kf_escape(safe, sizeof(safe), line));
		return;
	}
	snprintf(trial->problem, sizeof(trial->problem),
		 "it saw nothing of a program under the library");
}

int kf_trial_bpftrace(struct kf_trial *trial, const char *library)
{
	char *ours = kf_format("KONFISCATOR_LIBRARY=%s", library);
	char *argv[] = {(char *)"/usr/bin/env",
			ours,
			NULL,
			(char *)"trace",
			(char *)"--engine=bpftrace",
			(char *)"malloc",
			(char *)"--",
			(char *)"/bin/sh",
			(char *)"-c",
			(char *)":",
			NULL};
	char text[8192];
	int status;

	argv[2] = realpath("/proc/self/exe", NULL);
	*trial = (struct kf_trial){{0}};
	status = argv[2] ? kf_trial_capture(argv, text, sizeof(text),
					    BPFTRACE_MS)
			 : KF_EXIT_FAILED;
	free(argv[2]);
	free(ours);
	if (!status && strstr(text, SEEN))
		return 0;
	if (status == 128 + SIGKILL)
		snprintf(trial->problem, sizeof(trial->problem),
			 "it did not end within %d seconds",
			 BPFTRACE_MS / 1000);
	else
		trial_take_line(trial, text);
	return -1;
}

static void stap_problem(struct kf_trial *trial, char *text)
{
	char *copy = kf_format("%s", text), *at = copy, *why = NULL;
	char *line;

	while (!why && (line = strsep(&at, "\n")))
		kf_stap_explain(line, &why);
	if (why)
		snprintf(trial->problem, sizeof(trial->problem), "%s", why);
	else
		trial_take_line(trial, text);
	free(why);
	free(copy);
}

int kf_trial_stap(struct kf_trial *trial, const char *library)
{
	int unused, status = KF_EXIT_FAILED;
	char *tool = kf_program_find("stap", &unused);
	char *safe = kf_library_safe(library);
	char *script =
		kf_format("probe process(\"%s\").provider(\"konfiscator\")"
			  ".mark(\"memory_heap_new\")\n"
			  "{ println(\"" SEEN "\"); exit() }",
			  safe ? safe : "");
	char *program = kf_format("/usr/bin/env LD_PRELOAD=%s /bin/sh -c :",
				  safe ? safe : "");
	char text[8192] = "";

	*trial = (struct kf_trial){{0}};
	if (tool && safe)
		status = kf_trial_capture((char *[]){tool, (char *)"-e", script,
						     (char *)"-c", program,
						     NULL},
					  text, sizeof(text), STAP_MS);
	free(program);
	free(script);
	free(safe);
	free(tool);
	if (!status && strstr(text, SEEN))
		return 0;
	if (status == 128 + SIGKILL)
		snprintf(trial->problem, sizeof(trial->problem),
			 "it did not end within %d seconds", STAP_MS / 1000);
	else
		stap_problem(trial, text);
	return -1;
}
