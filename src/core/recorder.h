/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the heap's history is recorded: from the start, on order, in children.
 *
 * While there is a recording, threads are in the observed mode (src/mode):
 * their calls come between kf_recorder_enter() and kf_recorder_leave(), and are
 * written down by src/record.
 */
#ifndef KF_CORE_RECORDER_H
#define KF_CORE_RECORDER_H

#include "base/compiler.h"
#include "record/record.h"

/* Whether each call is to be written down; see kf_recorder_is_on(). */
extern bool kf_recorder_on __kf_hidden;

/* The same; set a moment before the recording begins. */
static inline bool kf_recorder_is_on(void)
{
	return __atomic_load_n(&kf_recorder_on, __ATOMIC_RELAXED);
}

/**
 * kf_recorder_publish() - begin the recording that the options ask for
 * @forked:	whether the process began with fork: then it records if its
 *		parent did
 *
 * Context: one thread at a time; after kf_stats_publish().
 */
void kf_recorder_publish(bool forked);

/**
 * kf_recorder_begin() - record from now on
 * @pattern:	the file, an absolute path; may hold %p
 *
 * Context: one thread at a time.
 * Return: 0, or a negative errno.
 */
int kf_recorder_begin(const char *pattern) __must_check;

/**
 * kf_recorder_stop() - record no longer
 *
 * Context: one thread at a time.
 * Return: false where nothing was recorded.
 */
bool kf_recorder_stop(void);

/**
 * kf_recorder_enter() - a call that is observed begins
 * kf_recorder_leave() - and ends
 *
 * Starts the library and settles a fork, if that is due. Calls in between are
 * not observed.
 *
 * Context: any thread, pairwise.
 */
void kf_recorder_enter(void);
void kf_recorder_leave(void);

/**
 * kf_recorder_thread_exit() - the calling thread ends
 *
 * Context: as kf_heap_detach(), which it calls.
 */
void kf_recorder_thread_exit(void);

/**
 * kf_recorder_fork_child() - leave the parent's recording
 *
 * Context: a forked child's only thread.
 */
void kf_recorder_fork_child(void);

#endif
