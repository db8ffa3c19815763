/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of src/stats share: a directory of their own, a configuration
 * that points to it, and the file as a reader would see it.
 */
#ifndef KF_TESTS_STATS_SUPPORT_H
#define KF_TESTS_STATS_SUPPORT_H

#include "stats/internal.h"

#include <sys/types.h>

extern char support_dir[PATH_MAX];

/**
 * support_begin() - start the counters, with an empty directory for the file
 *
 * The directory goes when the process ends, if it is the one that made it.
 *
 * Context: once, at the head of a test.
 */
void support_begin(void);

/**
 * support_conf() - a configuration that makes its file in support_dir
 *
 * Context: any.
 * Return: the configuration, guard on.
 */
struct kf_stats_conf support_conf(void);

/**
 * support_publish() - begin, and put a file behind the counters
 *
 * Fails the test where that fails.
 *
 * Context: once, at the head of a test.
 */
void support_publish(void);

/**
 * support_path_in() - a path below support_dir
 * @name:	the last part
 *
 * Context: one thread; overwritten by the next call.
 * Return: the path.
 */
const char *support_path_in(const char *name);

/**
 * support_read() - the bytes of a file
 * @path:	the file
 * @size:	out: how many
 *
 * Return: the bytes, to be freed; fails the test where they cannot be had.
 */
char *support_read(const char *path, size_t *size);

/**
 * support_check() - fail the test unless a file is a whole stats file
 * @path:	the file
 *
 * Holds every section against the file's real size.
 *
 * Return: the bytes, to be freed.
 */
char *support_check(const char *path);

/**
 * support_nr_files() - how many names a directory holds
 * @dir:	the directory
 *
 * Return: the number; fails the test where it cannot be read.
 */
int support_nr_files(const char *dir);

/**
 * support_join() - wait for a child
 * @pid:	the child
 *
 * Return: its wait status.
 */
int support_join(pid_t pid);

#endif
