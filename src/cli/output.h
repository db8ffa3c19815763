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
	FILE *file;
	char *path; /* NULL: stdout */
	char *temp; /* NULL: written in its place */
};

/**
 * kf_output_place() - where a file is to be written
 * @path:	as it was named
 *
 * Context: one thread; the command has no other.
 * Return: the regular file that a link of ours or of root's leads to, where
 *	   nobody else could have put the link there; else @path. To free().
 */
char *kf_output_place(const char *path);

/**
 * kf_output_make() - open what a file is written to
 * @path:	where, of kf_output_place()
 * @temp:	out: the name beside @path that rename(2) is to move there, to
 *		free(); NULL where @path is no regular file and is written to
 *		as it is
 *
 * A link that another user made or could exchange is replaced, never followed.
 *
 * Context: one thread; the command has no other.
 * Return: a descriptor, or -1 with errno.
 */
int kf_output_make(const char *path, char **temp);

/**
 * kf_output_open() - begin a file
 * @o:		out
 * @path:	where, or NULL or "-" for stdout; what is there and no regular
 *		file is written to as it is
 *
 * Context: one thread; the command has no other.
 * Return: 0, or -1 after a message.
 */
int kf_output_open(struct kf_output *o, const char *path);

/**
 * kf_output_close() - end a file
 * @o:		the file
 * @good:	whether it is what it should be; else nothing is left of it
 *
 * Context: one thread; the command has no other.
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
 * Context: one thread; the command has no other.
 * Return: 0, or -1 after a message.
 */
int kf_painter_start(struct kf_painter *p, int out);

/**
 * kf_painter_end() - close what it reads, and wait for its end
 * @p:		the program
 *
 * Context: one thread; the command has no other.
 * Return: 0, or -1 after a message.
 */
int kf_painter_end(struct kf_painter *p);

#endif
