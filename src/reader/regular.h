/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one door to files that somebody else named or made.
 *
 * Promises that nothing but a regular file is ever opened: no device, to open
 * which may do something, and no FIFO, on which a reader waits. What the path
 * leads to is looked at before, without opening it, and that is what is opened
 * then, whatever the path leads to by that time. And nothing is read of a file
 * where it has nothing.
 */
#ifndef KF_READER_REGULAR_H
#define KF_READER_REGULAR_H

#include <stdbool.h>
#include <stdint.h>

/**
 * kf_regular_open() - open a regular file for reading
 * @path:	the file; links are followed
 *
 * Return: the descriptor; -1 with errno, which is ENOTSUP where there is
 *	   something else.
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
 * kf_data_find() - find what a file has on its disk
 * @fd:		the file
 * @begin:	where to look from; out: where the next data begins
 * @end:	out: where it ends
 *
 * A file may be as long as its owner likes, with nothing in it. Where the file
 * system does not know holes all of it is data.
 *
 * Context: any thread; moves the file's offset.
 * Return: whether there is more.
 */
bool kf_data_find(int fd, uint64_t *begin, uint64_t *end);

#endif
