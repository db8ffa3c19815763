/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts a program under the library, for `konfiscator run` and for commands
 * that start one themselves.
 */
#ifndef KF_CLI_COMMANDS_RUN_H
#define KF_CLI_COMMANDS_RUN_H

#include "cli/cli.h"

/**
 * kf_run_set() - set an option of the library for the program
 * @id:		the option's name in conf.def
 * @value:	its value, which is right
 *
 * Ends the process with a message where there is no memory.
 */
void kf_run_set(const char *id, const char *value);

/**
 * kf_run_variable() - an option of the library as a variable
 * @id:		the option's name in conf.def
 * @value:	its value
 * @allowed:	out, if NULL is returned: which values are allowed; NULL: there
 *		is no such option
 *
 * Return: NAME=VALUE, to free(); NULL: the value or the name is wrong.
 */
char *kf_run_variable(const char *id, const char *value, const char **allowed);

/* The help of an option --python. */
#define KF_RUN_PYTHON \
	"make Python allocate every object with malloc (PYTHONMALLOC=malloc)"

/**
 * kf_run_set_python() - let Python take each of its objects by malloc
 *
 * Ends the process with a message where there is no memory.
 */
void kf_run_set_python(void);

/**
 * kf_run_set_record() - let the program be recorded
 * @path:	the recording; may hold %p. An earlier recording of that name is
 *		deleted, as the library writes to no file that exists
 *
 * Return: 0, or the exit status, after a message.
 */
int kf_run_set_record(const char *path);

/**
 * kf_run() - become a program under the library
 * @cli:	the command line
 * @argc:	number of @argv
 * @argv:	the program and its arguments
 *
 * Return: only after a message, the exit status: 125, 126 or 127.
 */
int kf_run(struct kf_cli *cli, int argc, char **argv);

#endif
