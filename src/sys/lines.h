/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines of a file of the kernel, such as /proc/self/maps, read inside
 * malloc: no call allocates. A line that is longer than the buffer is left out.
 */
#ifndef KF_SYS_LINES_H
#define KF_SYS_LINES_H

#include "base/compiler.h"

/* A file that is read line by line. */
struct kf_lines {
	int fd;
	bool cuts; /* the begin of the current line did not fit in @buf */
	size_t at; /* byte in @buf of the next line */
	size_t len;
	char buf[8192];
};

/**
 * kf_lines_open() - begin to read a file
 * @lines:	out: before the first line
 * @path:	the file
 *
 * Context: any; opens a file.
 * Return: 0, or a negative errno.
 */
int kf_lines_open(struct kf_lines *lines, const char *path) __must_check;

/**
 * kf_lines_next() - the next line
 * @lines:	the file
 * @len:	out: bytes of the line
 *
 * Context: any.
 * Return: the line, terminated, without its line feed, valid until the next
 *	   call; NULL at the end.
 */
char *kf_lines_next(struct kf_lines *lines, size_t *len) __must_check;

/**
 * kf_lines_close() - end it
 * @lines:	the file
 *
 * Context: any.
 */
void kf_lines_close(struct kf_lines *lines);

#endif
