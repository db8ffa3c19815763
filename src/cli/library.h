/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The path of the library, and a path for LD_PRELOAD.
 */
#ifndef KF_CLI_LIBRARY_H
#define KF_CLI_LIBRARY_H

#include "base/compiler.h"

/**
 * kf_library_find() - the library's absolute path
 * @name:	its file name, such as "libkonfiscator.so"
 *
 * Searches $KONFISCATOR_LIBRARY (for other names its directory), else the build
 * tree if the command runs from there, else the installed directory.
 *
 * Return: the path, to free(); NULL after a message if there is none.
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
 * any quoting. If @path has one of them, a link to it is made in a directory of
 * the user in $TMPDIR or /tmp. The link stays, as children of the program may
 * need it, and is used again the next time.
 *
 * Return: the path, to free(); NULL after a message if no link can be made.
 */
char *kf_library_safe(const char *path);

/**
 * kf_library_preload() - put the library at the front of LD_PRELOAD
 * @path:	a safe path
 *
 * Return: 0, or -1 with errno.
 */
int kf_library_preload(const char *path);

/**
 * kf_build_tree() - the build tree that the command runs from
 *
 * Return: its path, to free(); NULL if the command is installed.
 */
char *kf_build_tree(void);

/**
 * kf_scripts_dir() - the directory of the scripts for other tools
 *
 * $KONFISCATOR_SCRIPTS, else the build tree's, else the installed one.
 *
 * Return: its path, to free().
 */
char *kf_scripts_dir(void);

#endif
