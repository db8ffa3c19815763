/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which samples are guarded blocks (heap/guarded.h), and the report of what
 * their guards find.
 *
 * A report is told once for each block: what happened, where, and the stacks of
 * the allocation, of the free and of the access. Then the page is accessible,
 * and the program goes on as it would without a guard, unless it is to end on
 * errors (kf_guarding_ends()).
 */
#ifndef KF_CORE_GUARDING_H
#define KF_CORE_GUARDING_H

#include "base/compiler.h"

#include "konfiscator-engine.h"

/**
 * kf_guarding_start() - guard samples from now on, if the options say so
 *
 * Context: once, at start.
 */
void kf_guarding_start(void);

/**
 * kf_guarding_is_on() - whether samples may be guarded
 *
 * Context: any.
 * Return: constant after the start.
 */
bool kf_guarding_is_on(void);

/**
 * kf_guarding_alloc() - a guarded block
 * @size:	bytes, not 0
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @mark:	of the sample
 *
 * Fires guard_alloc.
 *
 * Context: any thread, no lock of the library held. Walks the stack.
 * Return: the block, counted; NULL: this sample is not guarded.
 */
void *kf_guarding_alloc(size_t size, size_t align, bool zeroed,
			uint32_t mark) __must_check;

/**
 * kf_guarding_misuse() - report the wrong free of a guarded block
 * @wrong:	the kind
 * @p:		the pointer
 *
 * Ends the program where errors are to end it.
 *
 * Context: any.
 * Return: false: @p is no address of a guarded block, report it otherwise.
 */
bool kf_guarding_misuse(enum konf_misuse wrong, const void *p);

/**
 * kf_guarding_fork_child() - the process is a forked child
 *
 * Context: the child's only thread.
 */
void kf_guarding_fork_child(void);

#endif
