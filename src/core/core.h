/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts that all engines share: start, retry when memory is short, errno,
 * misuse, fork.
 */
#ifndef KF_CORE_CORE_H
#define KF_CORE_CORE_H

#include "base/compiler.h"
#include "stats/stats.h"

/* The calls that take the slow path, as the probe slow_enter numbers them. */
enum kf_call {
	KF_CALL_MALLOC,
	KF_CALL_CALLOC,
	KF_CALL_REALLOC,
	KF_CALL_ALIGNED,
	KF_CALL_FREE,
};

/**
 * kf_alloc() - a block by the slow path
 * @size:	bytes; 0 is taken as 1
 * @align:	power of two, at least 16
 * @call:	the caller; for KF_CALL_CALLOC the block reads as zeroes
 * @mark:	the mark of the thread's tag, 0 for none; the tag's counters do
 *		not have the block yet
 * @usable:	out: usable bytes of the block
 *
 * Fires the retry probes and out_of_memory.
 *
 * Context: any thread, before main() too; starts the library.
 * Return: the block, counted, errno kept; or NULL with errno ENOMEM.
 */
void *kf_alloc(size_t size, size_t align, enum kf_call call, uint32_t mark,
	       size_t *usable) __must_check;

/**
 * kf_release() - free a block by the slow path
 * @p:		not NULL
 * @usable:	kf_usable() of it
 *
 * If @p is no block, the program ends with one line on stderr.
 *
 * Context: any thread. Keeps errno.
 */
void kf_release(void *p, size_t usable);

/**
 * kf_resize() - a block at another size
 * @p:		not NULL
 * @size:	not 0
 *
 * Context: any thread.
 * Return: the block, errno kept; or NULL with errno ENOMEM and the old block
 *	   as it was.
 */
void *kf_resize(void *p, size_t size) __must_check;

/**
 * kf_usable() - usable bytes of a block
 * @p:		any pointer
 *
 * Context: any thread.
 * Return: bytes, 0 where @p is no block.
 */
size_t kf_usable(const void *p);

/**
 * kf_perturb() - fill new and freed blocks, as mallopt's M_PERTURB says
 * @value:	the byte freed blocks get, new ones its complement; 0: no more
 *
 * Holds for the calling thread and for those that start later.
 *
 * Context: any thread.
 */
void kf_perturb(int value);

/**
 * kf_start() - make the library usable
 *
 * Reads the options, gives the counters memory and a file, chooses the
 * engine. Called again it does nothing.
 *
 * Context: any thread; the first malloc of ld.so as a rule.
 */
void kf_start(void);

/**
 * kf_start_is_due() - whether slow paths must call kf_start() or
 *			kf_fork_complete() first
 *
 * Context: any.
 * Return: true until all is set up.
 */
bool kf_start_is_due(void);

/**
 * kf_start_attached() - kf_start(), in a process that ran without the library
 *
 * Serves by the engine system, and counts only blocks allocated from now on.
 *
 * Context: one thread, before calls are led here. May allocate.
 * Return: NULL, or in words why it cannot serve; it rests then.
 */
const char *kf_start_attached(void);

/* Detached, observes nothing: calls that still come are passed on; atomic. */
extern bool kf_resting __kf_hidden;

/**
 * kf_start_loaded() - the library is loaded: do what was too early before
 * kf_start_finish() - the program ends
 *
 * A library that is loaded after the C library does nothing before a call
 * comes.
 *
 * Context: the library's constructor and destructor.
 */
void kf_start_loaded(void);
void kf_start_finish(void);

/**
 * kf_start_stats_conf() - what files say of the process
 * @conf:	out: by the options
 *
 * Context: any thread, after the options were read.
 */
void kf_start_stats_conf(struct kf_stats_conf *conf);

/**
 * kf_start_publish() - put a file behind the counters
 * @forked:	whether the process began with fork
 *
 * Fires stats_open.
 *
 * Context: one thread at a time.
 */
void kf_start_publish(bool forked);

/**
 * kf_fork_register() - have fork() call us
 *
 * Context: once, in a constructor.
 */
void kf_fork_register(void);

/**
 * kf_fork_complete() - in a child: what the fork left to do
 *
 * A fork without handlers is noticed here. The child's own stats file is made
 * here, by its first slow path: a child that only calls exec makes none.
 *
 * Context: any thread; cheap when there is nothing to do.
 */
void kf_fork_complete(void);

/**
 * kf_fork_settle() - in a child that was made while the library rested: what
 *		      the fork left to do, but for the file
 *
 * Context: one thread, before calls are led here.
 * Return: whether this is such a child.
 */
bool kf_fork_settle(void);

/**
 * kf_fork_is_due() - whether kf_fork_complete() has something to do
 *
 * Context: any.
 * Return: true until it was called in a child.
 */
bool kf_fork_is_due(void);

/**
 * kf_fork_enter() - a call of the thread that forked begins
 * kf_fork_leave() - and ends
 * @at_once:	make the child's file now
 *
 * While the child has no file such calls count in memory, and no other thread
 * makes that a file in between.
 *
 * Context: a thread with kf_self.forked, pairwise.
 */
void kf_fork_enter(bool at_once);
void kf_fork_leave(void);

#endif
