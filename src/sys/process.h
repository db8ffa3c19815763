/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process and a thread may ask of themselves.
 *
 * Nothing is cached: a cached pid is wrong in a child. Every call keeps errno
 * and allocates nothing.
 *
 * A program may have the kernel kill it for system calls that it does not need
 * (seccomp), and to ask whether it does is such a call. So whoever sets a
 * filter tells here before, and from then on none is made but those by which
 * memory is taken and given back, and futex: what would need another is left
 * out.
 */
#ifndef KF_SYS_PROCESS_H
#define KF_SYS_PROCESS_H

#include "base/compiler.h"

#define KF_COMM_SIZE 16

/* Atomic: see kf_process_bar(). */
extern bool kf_process_barred __kf_hidden;

/**
 * kf_process_is_barred() - whether other system calls than malloc's may kill
 *
 * Context: any; one load.
 * Return: true where the program has filtered its calls since it began.
 */
static inline bool kf_process_is_barred(void)
{
	return unlikely(kf_load(&kf_process_barred));
}

/**
 * kf_process_bar() - say what kf_process_is_barred() answers, in children too
 * @barred:	the answer
 *
 * Context: any thread.
 * Return: what the answer was.
 */
bool kf_process_bar(bool barred);

/**
 * kf_process_pid() - the process' id in its own namespace
 *
 * Context: any, signal handlers too.
 * Return: the pid; 0 where the question is barred.
 */
int32_t kf_process_pid(void);

/**
 * kf_process_tid() - the calling thread's id
 *
 * Context: any, signal handlers too.
 * Return: the tid; 0 where the question is barred, but for the thread that
 *	   kf_process_note_first() was called by.
 */
int32_t kf_process_tid(void);

/**
 * kf_process_note_first() - remember who the calling thread is
 *
 * Context: at the start, and in a forked child: its only thread.
 */
void kf_process_note_first(void);

/**
 * kf_process_uid() - the effective user
 *
 * Context: any.
 * Return: the uid that files made now belong to.
 */
uint32_t kf_process_uid(void);

/**
 * kf_process_is_users() - whether the process is a user's and no more
 * @uid:	the user
 *
 * Context: any; makes two system calls.
 * Return: true if the user is the process' real, effective and saved one, and
 *	   the process may not pass over permissions of files.
 */
bool kf_process_is_users(uint32_t uid);

/**
 * kf_process_is_gone() - whether no process has an id
 * @pid:	the id, in our namespace
 *
 * Context: any.
 * Return: true if none has it; false for one that we may not signal, too.
 */
bool kf_process_is_gone(int32_t pid);

/**
 * kf_process_comm() - the calling thread's name
 * @comm:	out: the name, terminated; "" where it cannot be had, or the
 *		question is barred
 *
 * Context: any.
 */
void kf_process_comm(char comm[KF_COMM_SIZE]);

/**
 * kf_process_is_filtered() - whether system calls are filtered by seccomp
 *
 * Context: at the start, when what filters there are were not made for this
 *	    program alone; a filter that kills who asks does so.
 * Return: true if so, or if the question is refused.
 */
bool kf_process_is_filtered(void);

/**
 * kf_process_address_limit() - RLIMIT_AS
 *
 * Context: any.
 * Return: bytes; UINT64_MAX: no limit. Where the question is barred, what it
 *	   was when it was asked last.
 */
uint64_t kf_process_address_limit(void);

/**
 * kf_process_random() - a number nobody else can guess or has
 *
 * Before the kernel's pool is ready, and where the question is barred, it is
 * only hard to guess.
 *
 * Context: any; never waits.
 * Return: the number.
 */
uint64_t kf_process_random(void);

/**
 * kf_process_memory() - what the process has of the kernel, as /proc says
 * @size:	out: bytes of address space; 0 unknown
 * @resident:	out: bytes in RAM; 0 unknown
 *
 * Context: any thread, signal handlers too; opens a file.
 */
void kf_process_memory(uint64_t *size, uint64_t *resident);

/**
 * kf_process_clock_ns() - a clock
 * @clock:	CLOCK_REALTIME or CLOCK_MONOTONIC
 *
 * Context: any.
 * Return: nanoseconds.
 */
uint64_t kf_process_clock_ns(int clock);

/**
 * kf_process_pause() - let others run for a moment
 *
 * Sleeps on a futex, so that a thread of lower priority comes to its turn too.
 *
 * Context: any; no cancellation point.
 */
void kf_process_pause(void);

#endif
