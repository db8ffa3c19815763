/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's stack, from inside malloc.
 *
 * Each frame's caller is found by the unwind tables of the frame's function.
 * Code without tables, such as that of JIT compilers, is passed by its frame
 * pointers; below it the tables are used again. Where no tables can be read
 * (rows.h) all frames are found by frame pointers.
 *
 * The walk never faults on a broken stack: the kernel checks each page before
 * it is read, a caller's frame is always above its callee's, and an address
 * without tables must be in an executable mapping. Where the program has barred
 * such system calls, only tables are followed, without a check. It never
 * allocates, takes a lock or waits. There is no stack below a signal handler,
 * and none where all buffers are in use. The library's own frames are left out.
 */
#ifndef KF_SAMPLE_WALK_H
#define KF_SAMPLE_WALK_H

#include "sample/internal.h"

/**
 * kf_walk() - take the calling thread's stack
 * @most:	the most frames, up to KF_STATS_STACK_MAX; the flag KF_STACK_CUT
 *		says that there were more
 *
 * Uses little of the program's stack.
 *
 * Context: any thread, signal handlers too; no lock of the library held.
 * Return: the stack: return addresses, innermost first; none where it could not
 *	   be taken. Give it to kf_walk_done(). NULL where no buffer is free.
 */
struct kf_walked *kf_walk(uint32_t most) __must_check;

/**
 * kf_walk_context() - take the stack that a signal interrupted
 * @context:	of the signal's handler
 * @most:	as kf_walk()
 *
 * Context: the handler; otherwise as kf_walk().
 * Return: as kf_walk(); first is the instruction that was interrupted, as the
 *	   address behind its first byte, unless it is the library's.
 */
struct kf_walked *kf_walk_context(const void *context,
				  uint32_t most) __must_check;

/**
 * kf_walk_is_own() - whether code is the library's
 * @pc:		its address
 *
 * Context: any.
 * Return: true if so.
 */
bool kf_walk_is_own(uintptr_t pc) __must_check;

/**
 * kf_walk_is_inside() - whether a stack passes through the library
 * @stack:	the stack
 *
 * Context: any.
 * Return: true where the library has called what called it, such as another
 *	   malloc behind it.
 */
bool kf_walk_is_inside(const struct kf_walked *stack) __must_check;

/**
 * kf_walk_done() - free the buffer of a stack
 * @stack:	of kf_walk()
 *
 * Context: the thread that took it.
 */
void kf_walk_done(struct kf_walked *stack);

/**
 * kf_walk_wait_python() - wait for threads that read calls of Python
 *
 * To be called with kf_python_is_on() false; nothing is read from then on.
 *
 * Context: any thread, signal handlers too. Yields the processor, for a bounded
 *	    time.
 * Return: whether no other thread is left.
 */
bool kf_walk_wait_python(void);

/**
 * kf_walk_fork_child() - the process is a forked child
 *
 * Frees the buffers of the parent's other threads.
 *
 * Context: the child's only thread.
 */
void kf_walk_fork_child(void);

#endif
