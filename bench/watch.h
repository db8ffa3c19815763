/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory of a command over time, for bench/launch: every 10 ms the resident
 * memory of each of its processes is read in /proc/PID/statm. What is printed
 * is of the process that had most at a time, as is the peak that wait4() tells.
 *
 * Private dirty pages and PSS are read every 50 ms, and of small processes
 * only: the kernel walks the page tables for them while page faults wait.
 */
#ifndef KF_BENCH_WATCH_H
#define KF_BENCH_WATCH_H

#include <sys/types.h>

/* Between two looks. */
#define WATCH_NS INT64_C(10000000)

/**
 * watch_look() - read the memory of all processes of the command
 * @child:	the first of them
 *
 * Context: the launcher, which is the parent of all that lost theirs.
 */
void watch_look(pid_t child);

/**
 * watch_say() - print what was seen, as a line
 *
 * MEAN_KIB END_KIB DIRTY_KIB PSS_KIB: resident memory in the mean and when the
 * process was seen last, the most of private dirty pages, and the most of PSS.
 * Each is "-" if unknown.
 *
 * Context: the launcher, when the command has ended.
 */
void watch_say(void);

#endif
