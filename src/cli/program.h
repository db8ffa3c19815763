/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds a program as a shell does, and checks whether the library can be
 * preloaded into it.
 */
#ifndef KF_CLI_PROGRAM_H
#define KF_CLI_PROGRAM_H

#include "base/compiler.h"

#include <sys/types.h>

/**
 * kf_program_find() - the file of a command name
 * @name:	the name; one with a slash is looked up as it is
 * @status:	out, if NULL is returned: 127 not found, 126 not executable
 *
 * Return: the path, to free(); NULL where there is none.
 */
char *kf_program_find(const char *name, int *status);

/**
 * kf_program_refusal() - why the library cannot be preloaded into a program
 * @path:	the program, or a script, whose interpreter is checked
 * @library:	the library; its ELF class and machine must be the program's
 *
 * Return: the reason in a few words, to free(); NULL if preloading works.
 */
char *kf_program_refusal(const char *path, const char *library);

/* Who is to run a program, and where. */
struct kf_program_as {
	const char *root; /* the directory that is its /; NULL: ours */
	uid_t uid;
	gid_t gid;
	bool no_new_privileges; /* set-id has no effect */
};

/**
 * kf_program_refusal_as() - the same for a program that another one starts
 * @path:	the program, within its root
 * @library:	the library, by a path of ours
 * @as:		who runs the program
 *
 * Return: as kf_program_refusal(); a file that is missing is a reason.
 */
char *kf_program_refusal_as(const char *path, const char *library,
			    const struct kf_program_as *as);

#endif
