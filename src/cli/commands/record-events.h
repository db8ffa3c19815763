/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator record --events: the library itself writes a recording.
 */
#ifndef KF_CLI_COMMANDS_RECORD_EVENTS_H
#define KF_CLI_COMMANDS_RECORD_EVENTS_H

#include "cli/cli.h"

/**
 * kf_record_events() - run a program that is recorded
 * @cli:	the command line
 * @output:	the recording, which may hold %p, or NULL
 * @compress:	compress the recordings when the program has ended
 * @argc:	number of @argv
 * @argv:	the program and its arguments
 *
 * Return: the exit status; without @compress only after a message.
 */
int kf_record_events(struct kf_cli *cli, const char *output, bool compress,
		     int argc, char **argv);

#endif
