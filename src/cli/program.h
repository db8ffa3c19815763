/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds a program as the shell would, and says whether the library can be
 * preloaded into it.
 */
#ifndef KF_CLI_PROGRAM_H
#define KF_CLI_PROGRAM_H

#include "base/compiler.h"

/**
 * kf_program_find() - the file that a command name stands for
 * @name:	the name; one with a slash is looked up as it is
 * @status:	out where it returns NULL: 127 not found, 126 found and not
 *		executable
 *
 * Return: the path, to free(); NULL where there is none.
 */
char *kf_program_find(const char *name, int *status);

/**
 * kf_program_refusal() - why the library cannot be preloaded into a program
 * @path:	the program, or a script: then its interpreter is meant
 * @library:	the library, whose class and machine the program must have
 *
 * Return: the reason in a few words, to free(); NULL where it can be.
 */
char *kf_program_refusal(const char *path, const char *library);

#endif
