/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directories of stats files. Users own them, and root reads them and
 * deletes files in them.
 *
 * Promises: a directory is opened once, name by name, and used by its
 * descriptor, so nobody can replace it meanwhile. A symbolic link in the path
 * is followed only if it is root's or the caller's; root follows none in a
 * directory that others can write. /tmp/konfiscator-stats-UID and
 * /run/user/UID/konfiscator are opened only if they belong to that user, root
 * or the caller. A file is deleted only if it is the one that was read.
 */
#ifndef KF_READER_PLACE_H
#define KF_READER_PLACE_H

#include "base/compiler.h"

#include <sys/types.h>

/* An open directory of stats files. */
struct kf_place {
	char *name; /* its path, or the name that outside.h gives it */
	int fd;
	uint64_t dev;
	uint64_t ino;
	uint32_t owner; /* user id */
	bool outside;	/* @name is not a path in our mount namespace / */
};

struct kf_places {
	unsigned int nr;
	struct kf_place *place;
};

/**
 * kf_place_open() - open a directory of stats files
 * @path:	the directory
 *
 * A magic link of procfs to a directory (/proc/PID/root) is followed too. Below
 * it no link is followed, as its text is relative to another root.
 *
 * Return: a descriptor to read it by; -1 with errno: ELOOP for a link that
 *	   others may have made, EPERM for a directory of another user, else as
 *	   open().
 */
int kf_place_open(const char *path);

/**
 * kf_place_of() - open the directory of a file
 * @path:	the file
 * @name:	out: its name in the directory, a part of @path
 *
 * Return: as kf_place_open().
 */
int kf_place_of(const char *path, const char **name);

/**
 * kf_place_to_write() - open the directory that a file is to be written in
 * @path:	the file
 * @name:	out: its name in the directory, to free(); NULL on failure
 *
 * Links of root and of the caller are followed, the last name of @path too. If
 * @name is a link, it is another user's or one of procfs.
 *
 * Return: a descriptor of the directory (O_PATH); -1 with errno: ELOOP for a
 *	   link that others may have made, EISDIR if @path names a directory,
 *	   else as open().
 */
int kf_place_to_write(const char *path, char **name);

/**
 * kf_place_is_proc() - whether a directory is one of procfs
 * @dirfd:	the directory, O_PATH too
 *
 * A link there leads to what a process has open, not to what its text names.
 *
 * Return: true if so.
 */
bool kf_place_is_proc(int dirfd);

/**
 * kf_place_error() - why a path was not opened
 * @error:	errno of a function of this file
 *
 * Return: the reason, for a message.
 */
const char *kf_place_error(int error);

/**
 * kf_place_refused() - whether a directory was not opened for safety
 * @error:	errno of kf_place_open()
 *
 * Return: true if the directory, or a link to it, is another user's.
 */
bool kf_place_refused(int error);

/**
 * kf_place_delete() - delete the file that was read
 * @dirfd:	its directory
 * @name:	its name there
 * @dev:	device of the file that was read
 * @ino:	its inode
 *
 * Return: 0, also if the name is gone; -1 with errno: ESTALE if the name is
 *	   another file now, else as unlink().
 */
int kf_place_delete(int dirfd, const char *name, uint64_t dev, uint64_t ino);

/**
 * kf_places_add() - add an open directory to a list
 * @places:	the list
 * @fd:		the directory; owned by the list if it is added
 * @name:	its name, copied
 * @outside:	whether it is in another mount namespace
 *
 * Context: one thread a list; allocates.
 * Return: 1; 0 if the list has that directory already; -1 with errno.
 */
int kf_places_add(struct kf_places *places, int fd, const char *name,
		  bool outside);

/**
 * kf_places_close() - close the directories of a list
 * @places:	the list; empty afterwards
 *
 * Context: one thread a list.
 */
void kf_places_close(struct kf_places *places);

#endif
