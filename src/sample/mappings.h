/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Private anonymous memory that the program maps itself, past malloc, with the
 * stack of the call: noted in the stats file while samples are taken.
 *
 * Short mappings, and those of threads' stacks, are not noted. At most
 * KF_STATS_MAPPINGS are, the larger ones first; neighbours of one stack are one
 * entry. Over time at most KF_MAPPINGS_RATE stacks a second are taken, after
 * the first KF_MAPPINGS_FIRST. Mappings that are not noted for such a limit,
 * or as their stack could not be taken, are counted in the word
 * mappings_missed.
 *
 * Calls may come in signal handlers: a change that finds the entries in use by
 * its own thread, or by another one for long, lets all entries be forgotten, so
 * that none is wrong.
 *
 * A change of the entries takes a microsecond where all are used.
 *
 * Every call keeps errno. A forked child that ran no handlers changes nothing.
 */
#ifndef KF_SAMPLE_MAPPINGS_H
#define KF_SAMPLE_MAPPINGS_H

#include "base/compiler.h"

#define KF_MAPPINGS_LEAST ((size_t)64 * KF_KIB) /* bytes */
#define KF_MAPPINGS_FIRST 2048
#define KF_MAPPINGS_RATE 256

/**
 * kf_mappings_stack() - the stack with which a mapping to come is noted
 * @size:	bytes of it, private and anonymous
 *
 * Walks the stack. Where samples are off, or the mapping is short, this is one
 * compare.
 *
 * Context: any thread, signal handlers too; no lock of the library held.
 * Return: for kf_mappings_put(); 0: it is not to be noted.
 */
uint32_t kf_mappings_stack(size_t size) __must_check;

/**
 * kf_mappings_put() - the program has mapped memory
 * @addr:	the address; notes of these addresses are forgotten
 * @size:	bytes, rounded up to pages
 * @stack:	of kf_mappings_stack() or kf_mappings_take(); 0: none
 *
 * Context: as kf_mappings_stack(). Cheap where nothing is noted.
 */
void kf_mappings_put(const void *addr, size_t size, uint32_t stack);

/**
 * kf_mappings_take() - the program is about to unmap or to move memory
 * @addr:	the address; notes of these addresses are forgotten
 * @size:	bytes, rounded up to pages
 *
 * Comes before the system call, as another thread may be given the addresses
 * right after it.
 *
 * Context: as kf_mappings_put().
 * Return: the stack of the largest part; 0: nothing was noted.
 */
uint32_t kf_mappings_take(const void *addr, size_t size);

/**
 * kf_mappings_restart() - forget all mappings
 *
 * Context: as kf_sample_restart().
 */
void kf_mappings_restart(void);

/**
 * kf_mappings_fork_child() - the process is a forked child
 *
 * Context: as kf_sample_fork_child().
 */
void kf_mappings_fork_child(void);

#endif
