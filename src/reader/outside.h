/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stats directories of processes in other mount namespaces, as containers
 * have them, with no volume shared: a process maps its stats file, so its list
 * of mappings names the directory, which is opened below the process' own root.
 *
 * Promises: no link leads out of that root, whoever made it; nothing is
 * written. What the reader may not look into is counted.
 */
#ifndef KF_READER_OUTSIDE_H
#define KF_READER_OUTSIDE_H

#include "base/compiler.h"

#define KF_OUTSIDE_NAME 4200

/* Where a process has its stats file. */
struct kf_outside {
	int fd;			    /* the directory; who asked closes it */
	bool outside;		    /* of another mount namespace */
	char name[KF_OUTSIDE_NAME]; /* its path, or PROCFS/PID/root/PATH */
};

/* What is done with a directory; @fd is its own. Not 0 ends the search. */
typedef int kf_outside_dir(void *ctx, int fd, const char *name);

/**
 * kf_outside_of() - find the directory of one process, wherever it is
 * @procfs:	where procfs is mounted
 * @pid:	the process, as procfs has it
 * @hidden:	out: 1 where it may not be looked into, else 0
 * @found:	out: the directory
 *
 * In the caller's own mount namespace it is opened by the rules of place.h.
 *
 * Return: 0, or -1 where there is none, or it may not be opened.
 */
int kf_outside_of(const char *procfs, int pid, unsigned int *hidden,
		  struct kf_outside *found);

/**
 * kf_outside_find() - find the directories
 * @procfs:	where procfs is mounted
 * @hidden:	out: processes that could not be looked into
 * @dir:	called for each, the same one perhaps more than once; the name
 *		"mnt:[INODE]/PATH" is the same as long as the namespace is
 * @ctx:	handed on
 *
 * Return: 0, or what @dir gave, or -1 when out of memory.
 */
int kf_outside_find(const char *procfs, unsigned int *hidden,
		    kf_outside_dir *dir, void *ctx);

#endif
