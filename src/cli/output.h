/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of -o, and programs that draw them.
 */
#ifndef KF_CLI_OUTPUT_H
#define KF_CLI_OUTPUT_H

#include "cli/cli.h"

#include <stdio.h>
#include <sys/types.h>

/* A file that is complete or not there at all. */
struct kf_output {
	FILE *file; /* of kf_output_open() */
	char *path; /* as named; NULL: stdout */
	char *name; /* in the directory */
	char *temp; /* in the directory; NULL: the file is in its place */
	int dirfd;  /* if @name */
};

/**
 * kf_output_make() - open a file for writing
 * @o:		out; to be released, also after a failure
 * @path:	where
 *
 * A regular file is written under another name until kf_output_show(). Anything
 * else, as a terminal, a pipe or what /dev/stdout leads to, is written in its
 * place. A link of another user is replaced where it is the last name of @path,
 * and refused among the directories.
 *
 * Return: a descriptor, or -1 after a message.
 */
int kf_output_make(struct kf_output *o, const char *path);

/**
 * kf_output_usual() - open a file that has a name nobody gave
 * @path:	where
 *
 * What is there is written over if it is a regular file of ours with no other
 * name, and refused else.
 *
 * Return: a descriptor, or -1 with errno.
 */
int kf_output_usual(const char *path);

/**
 * kf_output_unnamed() - make a file without a name, for what may be large
 *
 * It is in TMPDIR, or in /var/tmp: not where memory is the disk.
 *
 * Return: a descriptor, or -1 after a message.
 */
int kf_output_unnamed(void);

/**
 * kf_output_show() - move a file to its place
 * @o:		the file
 *
 * Return: 0, or -1 with errno.
 */
int kf_output_show(struct kf_output *o);

/**
 * kf_output_release() - free what belongs to a file
 * @o:		the file; what was not moved to its place is deleted
 */
void kf_output_release(struct kf_output *o);

/**
 * kf_output_open() - begin a file
 * @o:		out
 * @path:	where, or NULL or "-" for stdout; what is there and no regular
 *		file is written to as it is
 *
 * Return: 0, or -1 after a message.
 */
int kf_output_open(struct kf_output *o, const char *path);

/**
 * kf_output_close() - end a file
 * @o:		the file
 * @good:	whether it is what it should be; else nothing is left of it
 *
 * Return: 0, or -1 after a message if it could not be written.
 */
int kf_output_close(struct kf_output *o, bool good);

/* A program that reads from us and writes to a file. */
struct kf_painter {
	const char *const *argv; /* ends with NULL */
	const char *package;	 /* where it is found */
	FILE *in;		 /* what it reads; out of kf_painter_start() */
	pid_t pid;
};

/**
 * kf_painter_start() - start a program that draws
 * @p:		the program
 * @out:	its stdout
 *
 * SIGPIPE is ignored from then on: its end is told by its status.
 *
 * Return: 0, or -1 after a message.
 */
int kf_painter_start(struct kf_painter *p, int out);

/**
 * kf_painter_end() - close what it reads, and wait for its end
 * @p:		the program
 *
 * Return: 0, or -1 after a message.
 */
int kf_painter_end(struct kf_painter *p);

#endif
