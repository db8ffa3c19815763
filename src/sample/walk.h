/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's stack, from inside malloc.
 *
 * Two ways: along the frame pointers, which is quick but right only where all
 * code keeps them, and by the tables for exceptions, with libgcc's unwinder.
 * The first time that a chain of frame pointers is met the unwinder is asked
 * as well; where both agree the chain is believed from then on, else the
 * unwinder's stack is taken each time. Without the unwinder the chain is all
 * there is.
 *
 * Promises never to fault on a broken chain, as it asks the kernel for each
 * page before it reads it, and never to allocate, to wait or to be entered
 * again: in the midst of itself, called by the unwinder, below a signal
 * handler, or in a forked child whose unwinder may wait for a thread that is
 * not there, it gives up. The library's own frames are left out.
 */
#ifndef KF_SAMPLE_WALK_H
#define KF_SAMPLE_WALK_H

#include "sample/internal.h"

/**
 * kf_walk_load() - get the unwinder ready
 * @load:	load it if the program has not; false: use it only if it is
 *		there
 *
 * Context: once, not inside of malloc: the dynamic linker allocates. Later
 *	    calls do nothing where it is ready.
 * Return: whether there is one now.
 */
bool kf_walk_load(bool load);

/**
 * kf_walk_is_loaded() - whether the unwinder is ready
 *
 * Context: any thread.
 * Return: true if so.
 */
bool kf_walk_is_loaded(void);

/**
 * kf_walk_fork_child() - the process is a forked child
 *
 * An unwinder that takes the dynamic linker's lock is asked no more: another
 * thread of the parent may have had it, and has it for ever.
 *
 * Context: the child's only thread.
 */
void kf_walk_fork_child(void);

/**
 * kf_walk() - take the calling thread's stack
 * @stack:	out: return addresses, inmost first; none where it gave up
 *
 * Context: any thread, no lock of ours held.
 */
void kf_walk(struct kf_walked *stack);

#endif
