/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's stack, from inside malloc.
 *
 * There are two ways: the chain of frame pointers, which is fast but correct
 * only where all code has frame pointers, and libgcc's unwinder, which uses the
 * exception tables. A new chain is compared with the unwinder's stack; if both
 * agree the chain is believed from then on, else the unwinder runs each time.
 * Without an unwinder the chain is taken.
 *
 * The walk never faults on a broken chain, as the kernel checks each page
 * before it is read. It never allocates, waits or enters itself: inside another
 * walk, when the unwinder calls malloc, below a signal handler, and in a forked
 * child whose unwinder may wait for a thread of the parent, there is no stack.
 * The library's own frames are left out.
 */
#ifndef KF_SAMPLE_WALK_H
#define KF_SAMPLE_WALK_H

#include "sample/internal.h"

/**
 * kf_walk_load() - prepare the unwinder
 * @load:	true: load it if the program has not
 *
 * Context: not inside of malloc, as the dynamic linker allocates; one thread at
 *	    a time.
 * Return: whether the unwinder is ready.
 */
bool kf_walk_load(bool load);

/**
 * kf_walk_is_loaded() - whether the unwinder is ready
 *
 * Context: any thread.
 * Return: true if it is.
 */
bool kf_walk_is_loaded(void);

/**
 * kf_walk_fork_child() - the process is a forked child
 *
 * An unwinder that takes the dynamic linker's lock is not used any more: a
 * thread of the parent may have held the lock during the fork.
 *
 * Context: the child's only thread.
 */
void kf_walk_fork_child(void);

/**
 * kf_walk() - take the calling thread's stack
 * @stack:	out: return addresses, innermost first; none on failure
 *
 * Context: any thread, no lock of the library held.
 */
void kf_walk(struct kf_walked *stack);

#endif
