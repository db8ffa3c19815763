/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the commands that look at units share: the options --user and --root.
 */
#ifndef KF_CLI_COMMANDS_UNIT_H
#define KF_CLI_COMMANDS_UNIT_H

#include "cli/unit/unit.h"

/* Keys of options; those of a command begin behind. */
enum { KF_OPT_UNIT_USER = KF_OPT_OWN, KF_OPT_UNIT_ROOT, KF_OPT_UNIT_OWN };

/* Their lines in a table of options. */
#define KF_UNIT_OPTIONS                                                                   \
	{KF_OPT_UNIT_USER, "user", NULL,                                                  \
	 "change the services of the user, not those of the system"},                     \
	{                                                                                 \
		KF_OPT_UNIT_ROOT, "root", "DIR",                                          \
			"change the unit files of the system below DIR, such as an image" \
	}

/**
 * kf_unit_option() - take --user or --root
 * @cli:	the command line
 * @key:	the option's key
 * @arg:	its argument
 *
 * Return: 0, or the exit status after a message.
 */
int kf_unit_option(struct kf_cli *cli, int key, const char *arg);

/**
 * kf_unit_begin() - find where units are, by the options
 * @cli:	the command line
 * @units:	out; kf_units_close() it
 *
 * Return: 0, or the exit status after a message.
 */
int kf_unit_begin(const struct kf_cli *cli, struct kf_units *units);

/**
 * kf_unit_one() - the name of the only argument
 * @cli:	the command line
 * @argc:	number of @argv
 * @argv:	the arguments
 * @more:	whether others may follow
 * @name:	out: the unit's name, to free()
 *
 * Return: 0, or the exit status after a message.
 */
int kf_unit_one(const struct kf_cli *cli, int argc, char **argv, bool more,
		char **name);

/**
 * kf_unit_changed() - let systemd know of a drop-in, and say what is left to do
 * @units:	where the unit is
 * @unit:	the unit, as it was before
 * @name:	its name
 * @what:	"written" or "deleted"
 *
 * Return: the exit status.
 */
int kf_unit_changed(const struct kf_units *units, const struct kf_unit *unit,
		    const char *name, const char *what);

/**
 * kf_unit_may_write() - whether what is at the drop-in's path is ours, or
 * nothing
 * @units:	where the unit is
 * @name:	its name
 *
 * Return: whether; a message says why not.
 */
bool kf_unit_may_write(const struct kf_units *units, const char *name);

/**
 * kf_unit_failed() - print errno with the path of a drop-in
 * @units:	where the unit is
 * @name:	its name
 *
 * Return: the exit status.
 */
int kf_unit_failed(const struct kf_units *units, const char *name);

#endif
