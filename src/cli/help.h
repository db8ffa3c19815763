/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The texts of --help, and the tables of options that they are made from.
 */
#ifndef KF_CLI_HELP_H
#define KF_CLI_HELP_H

#include "cli/cli.h"

#define KF_OPTION_NAME 32
#define KF_OPTION_GROUPS 6

/* Options that a command has, under one title. */
struct kf_option_group {
	const char *title; /* NULL: that of the group before */
	const struct kf_option *options;
};

/**
 * kf_option_groups() - the options of a command
 * @c:		the command; NULL: options before a command
 * @groups:	out: the groups; the command's own come first
 *
 * Return: their number.
 */
size_t kf_option_groups(const struct kf_command *c,
			struct kf_option_group groups[KF_OPTION_GROUPS]);

/**
 * kf_option_name() - a long option as users write it
 * @buf:	room for it
 * @name:	the name, which may be a C identifier, or NULL
 *
 * Return: @buf.
 */
const char *kf_option_name(char buf[KF_OPTION_NAME], const char *name);

/**
 * kf_help_print() - print the help of a command
 * @c:		the command; NULL: the list of commands
 */
void kf_help_print(const struct kf_command *c);

#endif
