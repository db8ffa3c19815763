/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What doctor tries out by starting programs.
 */
#ifndef KF_CLI_COMMANDS_DOCTOR_H
#define KF_CLI_COMMANDS_DOCTOR_H

#include "base/compiler.h"

/* What came of a trial run. */
struct kf_trial {
	char problem[512]; /* in words, where it failed */
};

/**
 * kf_trial_run() - start /bin/true under the library and read its stats file
 * @trial:	out
 * @library:	the library
 *
 * In a directory of its own, which is removed again.
 *
 * Return: 0, or -1 and what is wrong in @trial.
 */
int kf_trial_run(struct kf_trial *trial, const char *library);

/**
 * kf_trial_place() - start /bin/true under the library where real programs are
 * @trial:	out
 * @library:	the library
 * @dir:	KONFISCATOR_DIR, or NULL: as it is set here
 *
 * Its stats file is removed again.
 *
 * Return: the directory that it made its stats file in, to free(); NULL and
 *	   what is wrong in @trial where it made none.
 */
char *kf_trial_place(struct kf_trial *trial, const char *library,
		     const char *dir);

/**
 * kf_tool_version() - the first line of what a tool says of its version
 * @path:	the tool; it is run with --version
 *
 * Return: the line, to free(); NULL where it says nothing.
 */
char *kf_tool_version(const char *path);

#endif
