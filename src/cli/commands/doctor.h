/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks of doctor that start programs.
 */
#ifndef KF_CLI_COMMANDS_DOCTOR_H
#define KF_CLI_COMMANDS_DOCTOR_H

#include "base/compiler.h"

/* The result of a trial run. */
struct kf_trial {
	char problem[512]; /* the reason in words if it failed */
};

/**
 * kf_trial_run() - start /bin/true under the library and read its stats file
 * @trial:	out
 * @library:	the library
 *
 * The trial uses a temporary directory, which is removed.
 *
 * Return: 0, or -1 and what is wrong in @trial.
 */
int kf_trial_run(struct kf_trial *trial, const char *library);

/**
 * kf_trial_place() - find the directory in which programs make stats files
 * @trial:	out
 * @library:	the library
 * @dir:	KONFISCATOR_DIR, or NULL: its value in our environment
 *
 * Starts /bin/true under the library; its stats file is removed.
 *
 * Return: the directory, to free(); NULL if no stats file was made, with the
 *	   reason in @trial.
 */
char *kf_trial_place(struct kf_trial *trial, const char *library,
		     const char *dir);

/**
 * kf_trial_capture() - run a program, and take what it prints
 * @argv:	the program, by its path, and its arguments
 * @buf:	out: what it wrote to stdout and stderr, cut at @size
 * @size:	bytes of @buf, not 0
 * @limit_ms:	when the program and its process group are killed; 0: never
 *
 * Return: the exit status, as kf_child_status() has it: 137 if it was killed.
 */
int kf_trial_capture(char **argv, char *buf, size_t size, int limit_ms);

/**
 * kf_trial_bpftrace() - trace a program under the library with bpftrace
 * @trial:	out
 * @library:	the library
 *
 * `konfiscator trace malloc` runs /bin/sh, and must see its heap.
 *
 * Return: 0, or -1 and what is wrong in @trial.
 */
int kf_trial_bpftrace(struct kf_trial *trial, const char *library);

/**
 * kf_trial_stap() - the same with SystemTap
 * @trial:	out
 * @library:	the library
 *
 * Compiles a script of one probe, and a module for the kernel.
 *
 * Return: 0, or -1 and what is wrong in @trial.
 */
int kf_trial_stap(struct kf_trial *trial, const char *library);

/**
 * kf_tool_version() - the first line of a tool's --version
 * @path:	the tool
 *
 * Return: the line, to free(); NULL if it prints nothing.
 */
char *kf_tool_version(const char *path);

#endif
