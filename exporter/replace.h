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
 * @mode:	its mode, less the umask
 * @data:	what is in it afterwards
 * @len:	bytes of it
 *
 * One at a time for a path: PATH.new is written first.
 *
 * Context: any thread. Waits for the disk.
 * Return: 0, or -1 with errno; the old file is whole then. EEXIST: something
 *	   else than a file is there.
 */
int kf_file_replace(const char *path, mode_t mode, const char *data,
		    size_t len);

/**
 * kf_file_append() - add to a file
 * @fd:		the file, open with O_APPEND
 * @data:	what is added
 * @len:	bytes of it
 *
 * Context: any thread, one at a time for a file. Waits for the disk.
 * Return: 0, or -1 with errno; what was there before is there then, and behind
 *	   it perhaps a part of @data.
 */
int kf_file_append(int fd, const char *data, size_t len);

#endif
