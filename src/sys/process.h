/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process and a thread may ask of themselves.
 *
 * Nothing is cached: a cached pid is wrong in a child. Every call keeps errno
 * and allocates nothing.
 */
#ifndef KF_SYS_PROCESS_H
#define KF_SYS_PROCESS_H

#include "base/compiler.h"

#define KF_COMM_SIZE 16

/**
 * kf_process_pid() - the process' id in its own namespace
 *
 * Context: any, signal handlers too.
 * Return: the pid.
 */
int32_t kf_process_pid(void);

/**
 * kf_process_tid() - the calling thread's id
 *
 * Context: any, signal handlers too.
 * Return: the tid.
 */
int32_t kf_process_tid(void);

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
 * @comm:	out: the name, terminated; "" where it cannot be had
 *
 * Context: any.
 */
void kf_process_comm(char comm[KF_COMM_SIZE]);

/**
 * kf_process_is_filtered() - whether system calls are filtered by seccomp
 *
 * Context: any.
 * Return: true if so, or if the question is refused. A filter that kills who
 *	   asks does so.
 */
bool kf_process_is_filtered(void);

/**
 * kf_process_address_limit() - RLIMIT_AS
 *
 * Context: any.
 * Return: bytes; UINT64_MAX: no limit.
 */
uint64_t kf_process_address_limit(void);

/**
 * kf_process_random() - a number nobody else can guess or has
 *
 * Before the kernel's pool is ready it is only hard to guess.
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
 * Sleeps, so that a thread of lower priority comes to its turn too.
 *
 * Context: any; no cancellation point.
 */
void kf_process_pause(void);

#endif
