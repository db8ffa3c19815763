/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which group a process belongs to, by process-exporter's process_names:
 * matchers on comm, exe and cmdline, and a template for the group's name. The
 * first that matches wins; who matches none is not in a group of its own but
 * in "other".
 *
 * Promises: expressions, what they are tried on, and the steps that a match
 * takes are bounded; the environment of a process is never looked at.
 */
#ifndef KF_EXPORTER_GROUPS_NAMING_H
#define KF_EXPORTER_GROUPS_NAMING_H

#include "base/compiler.h"
#include "reader/reader.h"

struct kf_naming;

/* What is known of a process; raw bytes. */
struct kf_naming_process {
	const char *comm;
	const char *exe;     /* path, or "" */
	const char *cmdline; /* arguments with a blank between them, or "" */
	const char *user;    /* name or number */
	const char *cgroups; /* path, or "" */
	int pid;
};

/**
 * kf_naming_read() - read a configuration file
 * @path:	the file
 * @error:	out: one line, where it is wrong
 * @size:	bytes of @error
 *
 * Context: once.
 * Return: the rules, or NULL with @error.
 */
struct kf_naming *kf_naming_read(const char *path, char *error, size_t size);

/**
 * kf_naming_traces() - the tracers that the configuration wants to run
 * @n:		the rules
 * @name:	out: their names, at most KF_MAX_TRACES, constants
 *
 * Context: any thread.
 * Return: how many.
 */
unsigned int kf_naming_traces(const struct kf_naming *n, const char **name);

/**
 * kf_naming_has_rules() - whether there are rules for names at all
 * @n:		the rules, or NULL
 *
 * Context: any thread.
 * Return: false where processes keep their own names.
 */
bool kf_naming_has_rules(const struct kf_naming *n);

/**
 * kf_naming_of_process() - the name of a living process' group
 * @n:		the rules
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @comm:	its name, raw
 * @name:	out: the group's name, raw
 * @size:	bytes of @name
 *
 * Context: any thread; allocates.
 * Return: false where no rule matches.
 */
bool kf_naming_of_process(const struct kf_naming *n, const char *procfs,
			  int pid, const char *comm, char *name, size_t size);

/**
 * kf_naming_of_ended() - the name of the group of a process that has ended
 * @n:		the rules
 * @s:		its stats file, or its row of a ledger
 * @name:	out: the group's name, raw
 * @size:	bytes of @name
 *
 * Its command line may be cut, and that of a row be missing.
 *
 * Context: any thread; allocates.
 * Return: false where no rule matches.
 */
bool kf_naming_of_ended(const struct kf_naming *n, const struct kf_snapshot *s,
			char *name, size_t size);

/**
 * kf_naming_free() - let rules go
 * @n:		the rules, or NULL
 *
 * Context: any thread.
 */
void kf_naming_free(struct kf_naming *n);

/**
 * kf_naming_apply() - the name of a process' group
 * @n:		the rules
 * @p:		the process
 * @name:	out: the name, raw
 * @size:	bytes of @name; what is longer is cut
 *
 * Context: any thread; allocates.
 * Return: false where no rule matches.
 */
bool kf_naming_apply(const struct kf_naming *n,
		     const struct kf_naming_process *p, char *name,
		     size_t size);

#endif
