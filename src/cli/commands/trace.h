/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of `konfiscator trace`: the scripts (scripts.c), the child
 * processes (child.c), the two tracers (bpftrace.c, stap.c) and what these say
 * of themselves (tracer-said.c).
 */
#ifndef KF_CLI_COMMANDS_TRACE_H
#define KF_CLI_COMMANDS_TRACE_H

#include "cli/cli.h"

#include <sys/types.h>

/* Missing if the kernel cannot trace user programs. */
#define KF_UPROBES "/sys/bus/event_source/devices/uprobe"

enum kf_engine_bits { KF_ENGINE_BPFTRACE = 1, KF_ENGINE_STAP = 2 };

struct kf_script {
	char *name;
	char *question;	      /* from its head, or "" */
	unsigned int engines; /* of enum kf_engine_bits */
	bool glibc;	      /* it traces the C library's malloc */
};

struct kf_scripts {
	char *dir; /* holds bpftrace/, stap/ and glibc/; NULL: none */
	size_t nr;
	struct kf_script *script; /* by name */
};

/* A script to run, and the processes to trace. */
struct kf_trace {
	const struct kf_cli *cli;
	char *script;  /* path */
	char *library; /* the file with the probes, as this process sees it */
	const char *preload; /* preloaded into the program, or NULL */
	int32_t pid;	     /* of -p; 0: none */
	const char **args;   /* of --arg, for the script; ends with NULL */
	size_t nr_args;
	char **argv; /* the program, or NULL */
};

/**
 * kf_scripts_find() - find the scripts that came with konfiscator
 * @s:		out
 *
 * Searches $KONFISCATOR_SCRIPTS, else the source tree if the command runs from
 * its build tree, else the installed directory.
 */
void kf_scripts_find(struct kf_scripts *s);

/**
 * kf_scripts_release() - free what kf_scripts_find() gave
 * @s:		the scripts
 */
void kf_scripts_release(struct kf_scripts *s);

/**
 * kf_scripts_get() - a script by its name
 * @s:		the scripts
 * @name:	the name
 *
 * Return: the script, or NULL.
 */
const struct kf_script *kf_scripts_get(const struct kf_scripts *s,
				       const char *name);

/**
 * kf_library_of() - the library's file that a process has mapped
 * @pid:	the process
 * @glibc:	the GNU C library, not ours
 *
 * Return: a path that this process can open, through /proc/PID/root if the
 *	   process has another mount namespace; free() it. NULL after a message.
 */
char *kf_library_of(int32_t pid, bool glibc);

/* A program that waits before its exec until it is released. */
struct kf_child {
	pid_t pid;
	int go; /* the write end of its pipe; -1 once closed */
};

/**
 * kf_child_hold() - fork a program that waits before its exec
 * @c:		out
 * @argv:	the program, found through PATH
 * @library:	preloaded into it; a safe path, or NULL
 *
 * Return: 0, or -1 after a message.
 */
int kf_child_hold(struct kf_child *c, char **argv, const char *library);

/**
 * kf_child_go() - release a held program
 * @c:		the program
 */
void kf_child_go(struct kf_child *c);

/**
 * kf_child_drop() - end a held program before its exec
 * @c:		the program
 */
void kf_child_drop(struct kf_child *c);

/**
 * kf_child_status() - wait for a process
 * @pid:	the process
 *
 * Return: its exit status as a shell gives it: 128 + n for signal n.
 */
int kf_child_status(pid_t pid);

/**
 * kf_trace_bpftrace() - run a script with bpftrace
 * @t:		what to trace
 *
 * Return: the program's exit status; without a program the tracer's.
 */
int kf_trace_bpftrace(const struct kf_trace *t);

/**
 * kf_trace_stap() - run a script with SystemTap
 * @t:		what to trace
 *
 * Return: the exit status if the tracer could not be started or refuses the
 *	   script, else it does not return.
 */
int kf_trace_stap(const struct kf_trace *t);

/**
 * kf_bpftrace_is_noise() - whether a line of bpftrace's stderr means nothing
 * @line:	the line
 *
 * Return: whether.
 */
bool kf_bpftrace_is_noise(const char *line);

/**
 * kf_stap_explain() - look for a known error in a line of SystemTap's
 * @line:	a line of its stderr
 * @why:	in and out: the first error in words, to free(), or NULL
 *
 * Return: whether the line is known, so that @why can take its place.
 */
bool kf_stap_explain(const char *line, char **why);

#endif
