/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots of the tags, written by the library: by interval, on a signal, on
 * order, when the program asks, and at its end.
 *
 * One is written at a time, from static memory: so a signal handler may do it.
 * A file is written under another name and renamed, so that readers see whole
 * files only. A device, pipe or link is written to directly, if the user gave
 * its name and the name was not derived. On order a file is created under its
 * own name and never replaces another: the process may have more rights than a
 * user who planted a file there.
 */
#ifndef KF_CORE_SNAPSHOT_H
#define KF_CORE_SNAPSHOT_H

#include "base/compiler.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/thread.h"

enum kf_snapshot_format { KF_SNAPSHOT_JSON, KF_SNAPSHOT_DOT };

/* Milliseconds between two snapshots; 0: none are due. Constant after start. */
extern uint32_t kf_snapshot_interval_ms;
extern uint32_t kf_snapshot_last_ms; /* atomic */

/**
 * kf_snapshot_init() - take over the options; install the handler asked for
 *
 * Context: once, at start.
 */
void kf_snapshot_init(void);

/**
 * kf_snapshot_fork_child() - append the process' id to names from now on
 *
 * Context: a forked child's only thread.
 */
void kf_snapshot_fork_child(void);

/**
 * kf_snapshot_write() - write one file
 * @path:	the file; %p becomes the process' id
 * @format:	what
 *
 * Context: any thread, signal handlers too. Keeps errno.
 * Return: 0, or a negative errno: -EBUSY when another is being written,
 *	   -ENOTSUP where the path is no file and this is a child, which would
 *	   derive the file's name from it.
 */
int kf_snapshot_write(const char *path, enum kf_snapshot_format format);

/**
 * kf_snapshot_next() - write PREFIX.NNNN.json and .dot, NNNN the next number
 * @prefix:	of the names, as kf_snapshot_write(); NULL: as the options say
 * @fresh:	only files that are not there yet: numbers that are taken are
 *		passed over; else files of these names are replaced
 *
 * Fires snapshot_written for each file.
 *
 * Context: as kf_snapshot_write().
 * Return: the number, or a negative errno: -ENOTSUP where the prefix is a
 *	   device or the like.
 */
int kf_snapshot_next(const char *prefix, bool fresh);

/**
 * kf_snapshot_take_due() - write the one that is due, by one thread
 *
 * Context: any thread, on slow paths.
 */
void kf_snapshot_take_due(void);

/* Look whether one is due: on slow paths. */
static inline void kf_snapshot_poll(void)
{
	if (unlikely(kf_snapshot_interval_ms &&
		     kf_now_ms() - __atomic_load_n(&kf_snapshot_last_ms,
						   __ATOMIC_RELAXED) >=
			     kf_snapshot_interval_ms))
		kf_snapshot_take_due();
}

#endif
