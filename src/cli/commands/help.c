/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator help: what --help prints.
 */
#include "config.h"

#include "cli/help.h"

static int help_run(struct kf_cli *cli, int argc, char **argv)
{
	const struct kf_command *c = argc ? kf_command_find(argv[0]) : NULL;

	if (argc > 1) {
		kf_error("help: only one command can be given");
		return KF_EXIT_USAGE;
	}
	if (argc && !c)
		return KF_EXIT_USAGE;
	kf_help_print(c);
	return KF_EXIT_OK;
}

const struct kf_command kf_command_help = {
	.name = "help",
	.args = "[COMMAND]",
	.help = "Print help for konfiscator or for a command",
	.formats = KF_FORMAT_TABLE,
	.run = help_run,
};
