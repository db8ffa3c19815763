/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator attach and detach: see cli/attach.h.
 */
#include "config.h"

#include "base/text.h"
#include "cli/attach.h"
#include "cli/order.h"

#include <stdlib.h>

enum { OPT_SAMPLE = KF_OPT_OWN, OPT_TIMEOUT, OPT_FORCE };

static struct kf_attach attach_order = {.seconds = KF_ATTACH_SECONDS};

static int attach_option(struct kf_cli *cli, int key, const char *arg)
{
	char *name;
	int status;

	if (key == OPT_FORCE)
		attach_order.force = true;
	if (key == OPT_FORCE)
		return 0;
	if (key == OPT_SAMPLE)
		return kf_order_take_sample("attach", arg,
					    &attach_order.sample);
	name = kf_format("%s: --timeout", cli->command->name);
	status = kf_take_seconds(name, arg, &attach_order.seconds);
	free(name);
	return status;
}

static int attach_all(struct kf_cli *cli, int argc, char **argv, bool detach)
{
	const char *name = cli->command->name;
	int status = 0;
	uint64_t pid;

	if (!argc) {
		kf_error("%s: a process is missing: konfiscator %s PID", name,
			 name);
		return KF_EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++) {
		if (!kf_parse_u64(argv[i], &pid) || !pid || pid > INT32_MAX) {
			kf_error("%s: '%s' is not a process number", name,
				 argv[i]);
			return KF_EXIT_USAGE;
		}
	}
	attach_order.detach = detach;
	for (int i = 0; i < argc && !status; i++) {
		kf_parse_u64(argv[i], &pid);
		attach_order.pid = (int32_t)pid;
		status = kf_attach(cli, &attach_order);
	}
	return status;
}

static int attach_run(struct kf_cli *cli, int argc, char **argv)
{
	return attach_all(cli, argc, argv, false);
}

static int detach_run(struct kf_cli *cli, int argc, char **argv)
{
	return attach_all(cli, argc, argv, true);
}

static const struct kf_option attach_options[] = {
	{OPT_SAMPLE, "sample", "BYTES",
	 "sample one block per BYTES allocated bytes on average, 1K to 1T; 1: every block (default: no samples)"},
	{OPT_TIMEOUT, "timeout", "SEC",
	 "give up if no safe point is reached, or a call does not return, within SEC seconds (default 10)"},
	{OPT_FORCE, "force", NULL,
	 "attach even if the process filters its system calls and may be killed"},
	{0},
};

static const struct kf_option detach_options[] = {
	{OPT_TIMEOUT, "timeout", "SEC",
	 "give up if no safe point is reached, or a call does not return, within SEC seconds (default 10)"},
	{OPT_FORCE, "force", NULL,
	 "detach even if the process filters its system calls and may be killed"},
	{0},
};

const struct kf_command kf_command_attach = {
	.name = "attach",
	.args = "PID...",
	.help = "Load the library into a running process",
	.about =
		"gdb loads the library at a safe point. From then on calls of malloc pass through\n"
		"the library to the malloc that the process already uses. Counters begin at 0;\n"
		"frees of older blocks are counted separately. The process stops for some\n"
		"milliseconds, and continues even if attach fails.",
	.examples =
		"  konfiscator attach --sample=64K 4711    count and sample from now on\n"
		"  konfiscator detach 4711                 put everything back",
	.options = attach_options,
	.formats = KF_FORMAT_TABLE,
	.option = attach_option,
	.run = attach_run,
};

const struct kf_command kf_command_detach = {
	.name = "detach",
	.args = "PID...",
	.help = "Undo attach",
	.about =
		"Calls of malloc go directly to the process' own malloc again; nothing is counted.\n"
		"The library stays mapped; the counts are added to the ledger, and the stats file\n"
		"is removed.",
	.options = detach_options,
	.formats = KF_FORMAT_TABLE,
	.option = attach_option,
	.run = detach_run,
};
