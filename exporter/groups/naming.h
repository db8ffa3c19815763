/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The group of a process, by process-exporter's process_names: matchers on
 * comm, exe and cmdline, and a template for the group's name. The first rule
 * that matches wins. A process that matches none is in group "other".
 *
 * The number and size of expressions, the length of subjects and the steps of a
 * match are bounded. The environment of a process is never read.
 */
#ifndef KF_EXPORTER_GROUPS_NAMING_H
#define KF_EXPORTER_GROUPS_NAMING_H

#include "base/compiler.h"
#include "reader/reader.h"

/* The group of processes that match no rule, or are beyond the limit. */
#define KF_OTHER "other"

struct kf_naming;

/* Facts about a process; raw bytes. */
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
 * @error:	out: one line, if the file has an error
 * @size:	bytes of @error
 *
 * Context: once.
 * Return: the rules, or NULL with @error.
 */
struct kf_naming *kf_naming_read(const char *path, char *error, size_t size);

/**
 * kf_naming_traces() - get the tracers in the configuration
 * @n:		the rules
 * @name:	out: their names, at most KF_MAX_TRACES, constants
 *
 * Return: their number.
 */
unsigned int kf_naming_traces(const struct kf_naming *n, const char **name);

/**
 * kf_naming_has_rules() - whether there are naming rules
 * @n:		the rules, or NULL
 *
 * Return: false if groups have the names of processes.
 */
bool kf_naming_has_rules(const struct kf_naming *n);

/**
 * kf_naming_fixed() - get the names that groups have whatever processes there
 * are
 * @n:		the rules, or NULL
 * @i:		from 0 on
 *
 * These are names without a template; the words of comm where the template is
 * {{.Comm}}, and the file names of exe where it is {{.ExeBase}}; and "other",
 * if there are rules.
 *
 * Return: a name, raw and possibly twice; NULL: no further ones.
 */
const char *kf_naming_fixed(const struct kf_naming *n, unsigned int i);

/**
 * kf_naming_of_process() - name the group of a living process
 * @n:		the rules
 * @procfs:	procfs' mount point
 * @pid:	the process
 * @comm:	its name, raw
 * @name:	out: the group's name, raw
 * @size:	bytes of @name
 *
 * Return: false if no rule matches.
 */
bool kf_naming_of_process(const struct kf_naming *n, const char *procfs,
			  int pid, const char *comm, char *name, size_t size);

/**
 * kf_naming_of_ended() - name the group of a process that has ended
 * @n:		the rules
 * @s:		its stats file, or its row of a ledger
 * @name:	out: the group's name, raw
 * @size:	bytes of @name
 *
 * Its command line may be truncated, or missing in a row.
 *
 * Return: false if no rule matches.
 */
bool kf_naming_of_ended(const struct kf_naming *n, const struct kf_snapshot *s,
			char *name, size_t size);

/**
 * kf_naming_free() - free rules
 * @n:		the rules, or NULL
 */
void kf_naming_free(struct kf_naming *n);

/**
 * kf_naming_apply() - name the group of a process
 * @n:		the rules
 * @p:		the process
 * @name:	out: the name, raw
 * @size:	bytes of @name; longer names are truncated
 *
 * Return: false if no rule matches.
 */
bool kf_naming_apply(const struct kf_naming *n,
		     const struct kf_naming_process *p, char *name,
		     size_t size);

#endif
