/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stats directories of processes in other mount namespaces, such as
 * containers, without a shared volume. A process maps its stats file, so its
 * list of mappings names the directory, which is opened below the process'
 * root.
 *
 * Promises: no link leads out of that root; nothing is written. Processes that
 * the reader may not inspect are counted.
 */
#ifndef KF_READER_OUTSIDE_H
#define KF_READER_OUTSIDE_H

#include "base/compiler.h"

#define KF_OUTSIDE_NAME 4200

/* The directory of a process' stats file. */
struct kf_outside {
	int fd;			    /* the directory; the caller closes it */
	bool outside;		    /* in another mount namespace */
	char name[KF_OUTSIDE_NAME]; /* its path, or PROCFS/PID/root/PATH */
};

/* Called with a directory; owns @fd. A result other than 0 ends the search. */
typedef int kf_outside_dir(void *ctx, int fd, const char *name);

/**
 * kf_outside_of() - find the directory of one process in any namespace
 * @procfs:	where procfs is mounted
 * @pid:	the process, as procfs has it
 * @hidden:	out: 1 if it may not be inspected, else 0
 * @found:	out: the directory
 *
 * A directory in the caller's mount namespace is opened by the rules of
 * place.h.
 *
 * Return: 0, or -1 if there is none, or it may not be opened.
 */
int kf_outside_of(const char *procfs, int pid, unsigned int *hidden,
		  struct kf_outside *found);

/**
 * kf_outside_find() - find the directories
 * @procfs:	where procfs is mounted
 * @hidden:	out: number of processes that could not be inspected
 * @dir:	called for each directory, perhaps several times for the same
 *		one; its name is "mnt:[INODE]/PATH"
 * @ctx:	handed on
 *
 * Return: 0, or the result of @dir, or -1 when out of memory.
 */
int kf_outside_find(const char *procfs, unsigned int *hidden,
		    kf_outside_dir *dir, void *ctx);

#endif
