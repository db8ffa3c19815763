/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directories of stats files. Users own them, and root reads them and
 * deletes files in them.
 *
 * Promises: a directory is opened once, name by name, and what is done in it
 * is done by its descriptor, so nobody can put another one in its place
 * meanwhile. A symbolic link on the way is followed only if it is root's or the
 * caller's; root follows none in a directory that others can write.
 * /tmp/konfiscator-stats-UID and /run/user/UID/konfiscator are opened only
 * where they belong to that user, root or the caller. A file is deleted only if
 * it is the one that was read.
 */
#ifndef KF_READER_PLACE_H
#define KF_READER_PLACE_H

#include "base/compiler.h"

#include <sys/types.h>

/* An open directory of stats files. */
struct kf_place {
	char *name; /* its path, or as outside.h makes it */
	int fd;
	uint64_t dev;
	uint64_t ino;
	uint32_t owner; /* user id */
	bool outside;	/* of another mount namespace: @name is no path here */
};

struct kf_places {
	unsigned int nr;
	struct kf_place *place;
};

/**
 * kf_place_open() - open a directory of stats files
 * @path:	the directory
 *
 * A link of procfs that stands for a directory (/proc/PID/root) is followed
 * too; below it no other link is, as its text is meant for another root.
 *
 * Return: a descriptor to read it by; -1 with errno: ELOOP where a link that
 *	   others may have made is on the way, EPERM where the directory
 *	   belongs to another user, else as open().
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
 * Return: a descriptor of the directory (O_PATH); -1 with errno: ELOOP where a
 *link that others may have made is on the way, EISDIR where @path names no
 *file, else as open().
 */
int kf_place_to_write(const char *path, char **name);

/**
 * kf_place_refused() - whether a directory was not opened for safety
 * @error:	errno of kf_place_open()
 *
 * Return: true where it is there, but somebody else made it or the way to it.
 */
bool kf_place_refused(int error);

/**
 * kf_place_delete() - delete the file that was read
 * @dirfd:	its directory
 * @name:	its name there
 * @dev:	device of the file that was read
 * @ino:	its inode
 *
 * Return: 0, also where there is no such name any more; -1 with errno: ESTALE
 *	   where the name is another file now, else as unlink().
 */
int kf_place_delete(int dirfd, const char *name, uint64_t dev, uint64_t ino);

/**
 * kf_places_add() - add an open directory to a list
 * @places:	the list
 * @fd:		the directory; the list's own if it is added
 * @name:	its name, copied
 * @outside:	whether it is of another mount namespace
 *
 * Context: one thread a list; allocates.
 * Return: 1; 0 where the list has that directory already; -1 with errno.
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
