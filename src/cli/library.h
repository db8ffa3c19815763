/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the library is, and how LD_PRELOAD can name it.
 */
#ifndef KF_CLI_LIBRARY_H
#define KF_CLI_LIBRARY_H

#include "base/compiler.h"

/**
 * kf_library_find() - the library's absolute path
 * @name:	its file, such as "libkonfiscator.so"
 *
 * $KONFISCATOR_LIBRARY (its directory for other names), the build tree when
 * the command runs from there, else where it was installed.
 *
 * Return: the path, to free(); NULL after a message where there is none.
 */
char *kf_library_find(const char *name);

/**
 * kf_library_look() - the same without a message
 * @name:	its file
 * @tried:	out: the path that was tried, to free()
 *
 * Return: the path, to free(); NULL with errno.
 */
char *kf_library_look(const char *name, char **tried);

/**
 * kf_library_safe() - a path to the same file that LD_PRELOAD can hold
 * @path:	absolute path
 *
 * The loader splits LD_PRELOAD at blanks and colons and expands '$', without
 * any quoting. Where @path has one of them, a link to it is made in a
 * directory of the user's own in $TMPDIR or /tmp. It stays, since children of
 * the program need it as long as they run, and is used again the next time.
 *
 * Return: the path, to free(); NULL after a message where no link can be made.
 */
char *kf_library_safe(const char *path);

/**
 * kf_library_preload() - put the library into LD_PRELOAD, before what is there
 * @path:	a safe path
 *
 * Return: 0, or -1 with errno.
 */
int kf_library_preload(const char *path);

/**
 * kf_build_tree() - the build tree that the command runs from
 *
 * Return: its path, to free(); NULL where the command is installed.
 */
char *kf_build_tree(void);

#endif
