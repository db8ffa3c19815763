/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library brought into a process that runs without it, and out of use
 * again: by gdb, which calls its functions there (scripts/gdb/attach.py).
 */
#ifndef KF_CLI_ATTACH_H
#define KF_CLI_ATTACH_H

#include "cli/cli.h"

#define KF_ATTACH_SECONDS 10 /* the usual limit */

/* What is asked for. */
struct kf_attach {
	int32_t pid;
	bool detach;
	bool force;	 /* in spite of a filter of system calls */
	uint64_t sample; /* mean distance of samples in bytes; 0: none */
	double seconds;	 /* limit of each part: a safe point, the calls */
};

/**
 * kf_attach() - attach a process or detach it, and say so
 * @cli:	the command line
 * @a:		what is asked for
 *
 * The process goes on in any case.
 *
 * Return: 0, or the exit status after a message.
 */
int kf_attach(const struct kf_cli *cli, const struct kf_attach *a);

/**
 * kf_attach_first() - what a command does before it looks for a process
 * @cli:	the command line
 * @pid:	the process that it names
 *
 * A process without the library is attached if the option --attach was given;
 * else one line says how it could be.
 *
 * Return: 0: the command may go on; or the exit status after a message.
 */
int kf_attach_first(const struct kf_cli *cli, int32_t pid);

/**
 * kf_attach_refusal() - why a process cannot be attached, by what /proc shows
 * @a:		what is asked for
 * @library:	the library, whose machine the process must have
 *
 * Return: the reason in a few words, to free(); NULL: it may work.
 */
char *kf_attach_refusal(const struct kf_attach *a, const char *library);

/**
 * kf_attach_why_none() - why no stats file of a process was found
 * @pid:	the process
 * @offer:	name the option --attach, where it would help
 *
 * Return: the reason, as the end of a sentence, to free().
 */
char *kf_attach_why_none(int32_t pid, bool offer);

/**
 * kf_attach_tell_none() - say why no stats file of a process was found
 * @command:	the command, for the message
 * @pid:	the process
 *
 * Return: KF_EXIT_NO_MATCH.
 */
int kf_attach_tell_none(const char *command, int32_t pid);

/**
 * kf_attach_mapped() - the library in a process
 * @pid:	the process
 *
 * Return: its path as the process has it, to free(); NULL: it is not there.
 */
char *kf_attach_mapped(int32_t pid);

/**
 * kf_attach_place() - a path of the library that a process can load
 * @pid:	the process
 * @library:	the library's path
 *
 * A process with other mounts or another root gets a copy in its temporary
 * directory, as does a process whose user cannot read the library.
 *
 * Return: the path as the process has it, to free(); NULL after a message.
 */
char *kf_attach_place(int32_t pid, const char *library);

/**
 * kf_attach_unplace() - remove the copy that kf_attach_place() made
 * @pid:	the process
 * @mapped:	kf_attach_mapped() of it
 *
 * Does nothing where @mapped is no copy.
 */
void kf_attach_unplace(int32_t pid, const char *mapped);

#endif
