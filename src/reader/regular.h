/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens files that others named or made.
 *
 * Promises that only regular files are opened: opening a device may have side
 * effects, and opening a FIFO may wait. The file is first found with O_PATH and
 * checked, and then the same file is opened, even if the path was changed
 * meanwhile. Holes of files are not read.
 */
#ifndef KF_READER_REGULAR_H
#define KF_READER_REGULAR_H

#include <stdbool.h>
#include <stdint.h>

/**
 * kf_regular_open() - open a regular file for reading
 * @path:	the file; links are followed
 *
 * Return: the descriptor; -1 with errno: ENOTSUP if it is not a regular file.
 */
int kf_regular_open(const char *path);

/**
 * kf_regular_open_in() - open a regular file as a process sees it
 * @root:	the directory that is its root, as /proc/PID/root
 * @path:	the file; no link leads out of @root
 *
 * Return: as kf_regular_open().
 */
int kf_regular_open_in(const char *root, const char *path);

/**
 * kf_regular_open_no_link() - open a regular file that is itself no link
 * @root:	as kf_regular_open_in(); "/" is that of the caller
 * @path:	the file
 *
 * Return: as kf_regular_open(); a link is no regular file.
 */
int kf_regular_open_no_link(const char *root, const char *path);

/**
 * kf_data_find() - find the next data of a file
 * @fd:		the file
 * @begin:	start of the search; out: begin of the data
 * @end:	out: end of the data
 *
 * A file may be long and have no data. If the file system has no holes, the
 * whole file is data.
 *
 * Context: moves the file's offset.
 * Return: whether there is data.
 */
bool kf_data_find(int fd, uint64_t *begin, uint64_t *end);

#endif
