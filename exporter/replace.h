/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replacing a file, or adding to it, durably or not at all.
 */
#ifndef KF_EXPORTER_REPLACE_H
#define KF_EXPORTER_REPLACE_H

#include <stddef.h>
#include <sys/stat.h>

/**
 * kf_file_replace() - give a file new contents
 * @path:	the file; only a regular one, or a link, is replaced
 * @mode:	its mode, before the umask
 * @data:	the new contents
 * @len:	bytes of @data
 *
 * Do not call at the same time for the same path: PATH.new is written first.
 *
 * Context: any thread. Waits for the disk.
 * Return: 0, or -1 with errno and the old file unchanged. EEXIST: @path is not
 *	   a regular file.
 */
int kf_file_replace(const char *path, mode_t mode, const char *data,
		    size_t len);

/**
 * kf_file_open_trusted() - open a file through no link of another user
 * @path:	the file
 * @flags:	as of open(); O_CLOEXEC and O_NOFOLLOW are added
 * @mode:	likewise
 *
 * Return: a descriptor, or -1 with errno, as kf_place_to_write() and open().
 */
int kf_file_open_trusted(const char *path, int flags, mode_t mode);

/**
 * kf_file_move_aside() - add a suffix to the name of a file
 * @path:	the file
 * @suffix:	the suffix; a file of that name is replaced
 *
 * Return: 0, or -1 with errno.
 */
int kf_file_move_aside(const char *path, const char *suffix);

/**
 * kf_file_append() - add to a file
 * @fd:		the file, open with O_APPEND
 * @data:	bytes to append
 * @len:	bytes of @data
 *
 * Context: one thread at a time for a file. Waits for the disk.
 * Return: 0, or -1 with errno; then a part of @data may have been appended.
 */
int kf_file_append(int fd, const char *data, size_t len);

#endif
