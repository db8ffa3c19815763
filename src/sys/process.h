/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about the process and the thread: ids, names, limits, clocks.
 *
 * Nothing is cached, as a cached pid is wrong in a child. Every call keeps
 * errno and allocates nothing.
 *
 * A seccomp filter of the program may kill it for system calls that it does not
 * make itself, even for the call that asks whether there is a filter. So calls
 * of the program that set a filter are intercepted and bar the library's system
 * calls before (kf_process_bar()). From then on the library makes only those
 * that map and unmap memory, and futex; it does without the others.
 */
#ifndef KF_SYS_PROCESS_H
#define KF_SYS_PROCESS_H

#include "base/compiler.h"

#define KF_COMM_SIZE 16

/* Set by kf_process_bar(); atomic. */
extern bool kf_process_barred __kf_hidden;

/**
 * kf_process_is_barred() - whether system calls beyond malloc's may kill
 *
 * A filter that was there when the program began, as in a container, does not
 * count: it was not made for this program alone.
 *
 * Context: any; one load.
 * Return: true where the program has set a seccomp filter since it began.
 */
static inline bool kf_process_is_barred(void)
{
	return unlikely(kf_load(&kf_process_barred));
}

/**
 * kf_process_bar() - bar or allow system calls, in this process and children
 * @barred:	true: bar them
 *
 * Context: any thread.
 * Return: whether they were barred before.
 */
bool kf_process_bar(bool barred);

/**
 * kf_process_pid() - the process' id in its own namespace
 *
 * Context: any, signal handlers too.
 * Return: the pid; 0 where system calls are barred.
 */
int32_t kf_process_pid(void);

/**
 * kf_process_tid() - the calling thread's id
 *
 * Context: any, signal handlers too.
 * Return: the tid; where system calls are barred, 0 except for the thread that
 *	   called kf_process_note_first().
 */
int32_t kf_process_tid(void);

/**
 * kf_process_note_first() - keep the tid and name of the calling thread
 *
 * Context: at the start, and in a forked child: its only thread.
 */
void kf_process_note_first(void);

/**
 * kf_process_uid() - the effective user
 *
 * Context: any.
 * Return: the uid, which owns files made now.
 */
uint32_t kf_process_uid(void);

/**
 * kf_process_is_users() - whether the process has the rights of one user only
 * @uid:	the user
 *
 * Context: any; makes two system calls.
 * Return: true if @uid is the process' real, effective and saved user, and the
 *	   process has no capability that passes over file permissions.
 */
bool kf_process_is_users(uint32_t uid);

/**
 * kf_process_is_gone() - whether no process has an id
 * @pid:	the id, in our namespace
 *
 * Context: any.
 * Return: true if no process has the id; false also for a process that this one
 *	   may not signal.
 */
bool kf_process_is_gone(int32_t pid);

/**
 * kf_process_comm() - the calling thread's name
 * @comm:	out: the name, terminated; "" where it is unknown or system
 *		calls are barred
 *
 * Context: any.
 */
void kf_process_comm(char comm[KF_COMM_SIZE]);

/**
 * kf_process_is_filtered() - whether system calls are filtered by seccomp
 *
 * Context: at the start, before the program may have set a filter, which might
 *	    kill for this call.
 * Return: true if they are, or if the call is refused.
 */
bool kf_process_is_filtered(void);

/**
 * kf_process_address_limit() - RLIMIT_AS
 *
 * Context: any.
 * Return: bytes; UINT64_MAX: no limit. Where system calls are barred, the last
 *	   known limit.
 */
uint64_t kf_process_address_limit(void);

/**
 * kf_process_random() - an unpredictable number
 *
 * Before the kernel's pool is ready, and where system calls are barred, it
 * comes from the clock and an address, and is only hard to guess.
 *
 * Context: any; never waits.
 * Return: the number.
 */
uint64_t kf_process_random(void);

/**
 * kf_process_memory() - the memory of the process, from /proc/self/statm
 * @size:	out: bytes of address space; 0: unknown
 * @resident:	out: bytes in RAM; 0: unknown
 *
 * Context: any thread, signal handlers too; opens a file.
 */
void kf_process_memory(uint64_t *size, uint64_t *resident);

/**
 * kf_process_clock_ns() - read a clock
 * @clock:	CLOCK_REALTIME or CLOCK_MONOTONIC
 *
 * Context: any.
 * Return: nanoseconds.
 */
uint64_t kf_process_clock_ns(int clock);

/**
 * kf_process_membarrier_init() - prepare kf_process_membarrier()
 *
 * Later, when the process has threads, this would take milliseconds.
 *
 * Context: at start.
 */
void kf_process_membarrier_init(void);

/**
 * kf_process_has_membarrier() - whether kf_process_membarrier() may be called
 *
 * Context: any thread.
 * Return: false where the kernel or a filter of system calls refuses it.
 */
bool kf_process_has_membarrier(void);

/**
 * kf_process_membarrier() - a memory barrier in all threads of the process
 *
 * Context: after kf_process_has_membarrier() said so.
 * Return: whether it was made.
 */
bool kf_process_membarrier(void);

/**
 * kf_process_pause() - sleep for 50 us
 *
 * Sleeps on a futex, so that threads of lower priority can run too.
 *
 * Context: any; no cancellation point.
 */
void kf_process_pause(void);

#endif
