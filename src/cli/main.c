/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator(1): finds the command, parses its options and runs it. stdout is
 * flushed and checked before the exit status is returned, so that status 0
 * means that everything was printed.
 */
#include "config.h"

#include "base/near.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kf_command *const cli_commands[] = {
#define KF_COMMAND(id) &kf_command_##id,
#include "cli/commands.def"
#undef KF_COMMAND
	NULL,
};

const struct kf_command *const *kf_commands(void)
{
	return cli_commands;
}

const struct kf_command *kf_command_find(const char *name)
{
	struct kf_near near = {0};

	for (size_t i = 0; cli_commands[i]; i++) {
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
		kf_near_look(&near, name, strlen(name), cli_commands[i]->name);
	}
	if (near.name)
		kf_error("unknown command '%s' (did you mean %s?): see "
			 "konfiscator --help",
			 name, near.name);
	else
		kf_error("unknown command '%s': see konfiscator --help", name);
	return NULL;
}

static int run_command(struct kf_cli *cli, int argc, char **argv)
{
	int status, first;

	cli->command = kf_command_find(argv[0]);
	if (!cli->command)
		return KF_EXIT_USAGE;
	first = kf_options_parse(cli, argc, argv, &status);
	if (first < 0)
		return status;
	if (!(cli->command->formats & cli->format))
		return kf_options_refuse_format(cli);
	argc -= first;
	argv += first;
	status = cli->command->selects ? kf_select_arguments(cli, &argc, &argv)
				       : 0;
	if (status)
		return status;
	if (argc && !cli->command->args[0]) {
		kf_error("%s: '%s': the command takes no arguments",
			 cli->command->name, argv[0]);
		return KF_EXIT_USAGE;
	}
	for (const char **dir = cli->dirs; dir && *dir; dir++) {
		if (kf_cli_check_dir(*dir))
			return cli->command->usage_status ?: KF_EXIT_FAILED;
	}
	for (unsigned int i = 0; cli->command->attaches && !cli->outside &&
				 !argc && i < cli->select.nr_pids;
	     i++) {
		status = kf_attach_first(cli, cli->select.pids[i]);
		if (status)
			return status;
	}
	return cli->command->run(cli, argc, argv);
}

static int run_main(struct kf_cli *cli, int argc, char **argv)
{
	int status, first;

	first = kf_options_parse(cli, argc, argv, &status);
	if (first < 0)
		return status;
	if (first == argc) {
		kf_error("a command is missing: see konfiscator --help");
		return KF_EXIT_USAGE;
	}
	return run_command(cli, argc - first, argv + first);
}

int main(int argc, char **argv)
{
	struct kf_cli cli = {.format = KF_FORMAT_TABLE};
	int status;

	setlocale(LC_CTYPE, "");
	status = run_main(&cli, argc, argv);
	kf_options_drop_dirs(&cli);
	free(cli.select.pids);
	free(cli.select.files);
	if (kf_pager_is_on())
		return status;
	if (fflush(stdout) || ferror(stdout) || fclose(stdout)) {
		kf_error("stdout: %s", strerror(errno));
		return status ? status : KF_EXIT_FAILED;
	}
	return status;
}
