/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator ctl: give an order to a process that runs.
 *
 * The order is written into the process' stats file, which only the file's
 * owner and root may write. The library carries the order out the next time a
 * call of the process takes the slow path. A lock on the file serializes
 * orders.
 */
#include "config.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/order.h"
#include "cli/process.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_S 10
#define TIMEOUT_MAX_S 86400

enum { OPT_TIMEOUT = KF_OPT_OWN, OPT_FORCE };

enum { SETTING, ARGUMENT, HELP };

struct control {
	const char *id;
	const char *argument;
	const char *help;
};

static const struct control ctl_controls[] = {
#define KF_CONTROL(id, argument, text) {#id, argument, text},
#include "core/control.def"
#undef KF_CONTROL
};

static const struct kf_column ctl_columns[] = {
	[SETTING] = {"SETTING", "setting", KF_CELL_TEXT},
	[ARGUMENT] = {"VALUE", "value", KF_CELL_TEXT},
	[HELP] = {"HELP", "help", KF_CELL_TEXT},
};

static uint64_t timeout_s = TIMEOUT_S;
static bool ctl_force;

static int ctl_list_settings(const struct kf_cli *cli)
{
	struct kf_table t;

	kf_table_init(&t, ctl_columns, KF_ARRAY_SIZE(ctl_columns));
	for (size_t i = 0; i < KF_ARRAY_SIZE(ctl_controls); i++) {
		struct kf_cell *row = kf_table_row(&t);

		kf_cell_text(&row[SETTING], ctl_controls[i].id);
		kf_cell_text(&row[ARGUMENT], ctl_controls[i].argument);
		kf_cell_text(&row[HELP], ctl_controls[i].help);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
	return KF_EXIT_OK;
}

static bool ctl_is_known(const char *order)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(ctl_controls); i++) {
		size_t len = strlen(ctl_controls[i].id);

		if (!strncmp(order, ctl_controls[i].id, len) &&
		    order[len] == '=')
			return true;
	}
	return false;
}

/* The stats file of the living process @pid, or NULL. */
static const struct kf_file *ctl_find_process(const struct kf_files *files,
					      int32_t pid)
{
	for (unsigned int i = 0; i < files->nr; i++) {
		const struct kf_file *f = &files->file[i];

		if (f->snap.result == KF_READ_OK && f->life == KF_LIFE_ALIVE &&
		    kf_process_id(f) == pid)
			return f;
	}
	return NULL;
}

/*
 * A relative file name is relative to our directory, not to the process'; "off"
 * stops a recording or the samples. Other orders are sent unchanged.
 */
static char *order_text(const char *arg)
{
	static const char *const with_file[] = {"record=", "dump="};

	if (!strcmp(arg, "record=off"))
		return kf_format("record=");
	if (!strcmp(arg, "sample=off"))
		return kf_format("sample=0");
	for (size_t i = 0; i < KF_ARRAY_SIZE(with_file); i++) {
		size_t len = strlen(with_file[i]);
		char *pattern, *text;

		if (strncmp(arg, with_file[i], len) != 0 || !arg[len])
			continue;
		pattern = kf_pattern_here(arg + len);
		text = kf_format("%s%s", with_file[i], pattern);
		free(pattern);
		return text;
	}
	return kf_format("%s", arg);
}

static int ctl_give_order(const struct kf_cli *cli, const struct kf_file *f,
			  const char *arg)
{
	char safe[4 * sizeof(((struct kf_answer *)0)->reply)];
	struct kf_answer answer;
	char *text = order_text(arg);
	enum kf_order_result r =
		kf_order_give(f, text, timeout_s, ctl_force, &answer);

	free(text);
	switch (r) {
	case KF_ORDER_DONE:
		if (!cli->quiet)
			printf("%s\n",
			       kf_escape(safe, sizeof(safe), answer.reply));
		return KF_EXIT_OK;
	case KF_ORDER_REFUSED:
		kf_error("ctl: %s: %s: %s", arg, answer.reply,
			 strerror(answer.error));
		return KF_EXIT_FAILED;
	case KF_ORDER_TOO_LONG:
		kf_error("ctl: %s: longer than %d bytes", arg,
			 KF_STATS_CONTROL_TEXT - 1);
		return KF_EXIT_USAGE;
	case KF_ORDER_OLD:
		kf_error("ctl: the library of process %d is too old: it takes "
			 "no orders",
			 kf_process_id(f));
		return KF_EXIT_FAILED;
	case KF_ORDER_FILTERED:
		kf_error("ctl: process %d filters its system calls (seccomp), "
			 "and an order might kill it: --force sends it anyway",
			 kf_process_id(f));
		return KF_EXIT_FAILED;
	case KF_ORDER_LATE:
		kf_error("ctl: process %d has not answered in %llu s, perhaps "
			 "because it allocates nothing: the order stays, and "
			 "is carried out when the process allocates again",
			 kf_process_id(f), (unsigned long long)timeout_s);
		return KF_EXIT_FAILED;
	default:
		kf_error("ctl: %s/%s: %s", f->dir, f->name, strerror(errno));
		return KF_EXIT_FAILED;
	}
}

static int give_all(struct kf_cli *cli, int32_t pid, char **orders)
{
	const struct kf_file *f;
	struct kf_files files;
	int status = kf_cli_find(cli, &files);

	if (status)
		return status;
	f = ctl_find_process(&files, pid);
	if (!f) {
		kf_error("ctl: no stats file of a living process %d: "
			 "see konfiscator ls",
			 pid);
		status = KF_EXIT_NO_MATCH;
	}
	while (f && !status && *orders)
		status = ctl_give_order(cli, f, *orders++);
	kf_files_release(&files);
	return status;
}

static int ctl_option(struct kf_cli *cli, int key, const char *arg)
{
	if (key == OPT_FORCE) {
		ctl_force = true;
		return 0;
	}
	if (!kf_parse_u64(arg, &timeout_s) || !timeout_s ||
	    timeout_s > TIMEOUT_MAX_S) {
		kf_error("ctl: --timeout: '%s' is not a number of seconds from "
			 "1 to %d",
			 arg, TIMEOUT_MAX_S);
		return KF_EXIT_USAGE;
	}
	return 0;
}

static int ctl_run(struct kf_cli *cli, int argc, char **argv)
{
	uint64_t pid;

	if (!argc) {
		kf_error("ctl: a process is missing: konfiscator ctl PID");
		return KF_EXIT_USAGE;
	}
	if (!kf_parse_u64(argv[0], &pid) || !pid || pid > INT32_MAX) {
		kf_error("ctl: '%s' is not a process number", argv[0]);
		return KF_EXIT_USAGE;
	}
	for (int i = 1; i < argc; i++) {
		if (!ctl_is_known(argv[i])) {
			kf_error("ctl: '%s' is not SETTING=VALUE of a setting "
				 "that 'konfiscator ctl PID' lists",
				 argv[i]);
			return KF_EXIT_USAGE;
		}
	}
	kf_select_pid(&cli->select, (int32_t)pid);
	return argc == 1 ? ctl_list_settings(cli)
			 : give_all(cli, (int32_t)pid, argv + 1);
}

static const struct kf_option ctl_options[] = {
	{OPT_TIMEOUT, "timeout", "SEC",
	 "wait SEC seconds for the process' answer (default 10)"},
	{OPT_FORCE, "force", NULL,
	 "send orders even if the process filters its system calls and may be killed"},
	{0},
};

const struct kf_command kf_command_ctl = {
	.name = "ctl",
	.args = "PID [SETTING=VALUE...]",
	.help = "Change a setting of a running process",
	.about =
		"Without SETTING=VALUE the settings are listed. The process applies a setting and\n"
		"answers the next time one of its calls takes the slow path.",
	.options = ctl_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = ctl_option,
	.run = ctl_run,
};
