/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replacing a file whole and durably, or not at all.
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

#endif
