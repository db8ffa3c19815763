/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The single stats file of a command: given as a file, or found by its process.
 */
#ifndef KF_CLI_ONE_H
#define KF_CLI_ONE_H

#include "cli/cli.h"

struct kf_one {
	struct kf_file *file; /* its result is KF_READ_OK */
	struct kf_files found;
	struct kf_file named; /* FILE; its process is not looked up */
};

/**
 * kf_one_find() - read it
 * @cli:	the command line; tables and selectors are followed
 * @path:	the file, or NULL: the process that the selectors match
 * @one:	out: the file; kf_one_release() it if 0 is returned
 *
 * Return: 0, or the exit status after a message.
 */
int kf_one_find(const struct kf_cli *cli, const char *path, struct kf_one *one);

/**
 * kf_one_path() - the path of the stats file of the selected process
 * kf_one_argument() - the same, of the process that an argument names
 * @cli:	the command line; its selectors are followed, or set
 * @arg:	a number of a process, or a file, which is returned as it is
 * @status:	out: 0, or the exit status after a message
 *
 * Return: a path, to free(); NULL if @status is not 0.
 */
char *kf_one_path(const struct kf_cli *cli, int *status);
char *kf_one_argument(struct kf_cli *cli, const char *arg, int *status);

/**
 * kf_one_release() - free what kf_one_find() gave
 * @one:	it
 */
void kf_one_release(struct kf_one *one);

/**
 * kf_refuse_file() - print why a stats file cannot be read
 * @name:	the command
 * @path:	the file
 * @s:		the snapshot; its result is not KF_READ_OK
 *
 * Return: the exit status.
 */
int kf_refuse_file(const char *name, const char *path,
		   const struct kf_snapshot *s);

#endif
