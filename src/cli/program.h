/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds a program as a shell does, and checks whether the library can be
 * preloaded into it.
 */
#ifndef KF_CLI_PROGRAM_H
#define KF_CLI_PROGRAM_H

#include "base/compiler.h"

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

#endif
