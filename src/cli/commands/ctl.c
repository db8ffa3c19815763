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
#include "cli/one.h"
#include "cli/order.h"
#include "cli/process.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that allocates answers sooner. */
#define BUSY_S 1
#define WAIT_MAX_S 86400

enum { OPT_WAIT = KF_OPT_OWN, OPT_TIMEOUT, OPT_FORCE };

enum { SETTING, NOW, ARGUMENT, HELP };

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
	[NOW] = {"NOW", "now", KF_CELL_TEXT},
	[ARGUMENT] = {"VALUE", "value", KF_CELL_TEXT},
	[HELP] = {"HELP", "help", KF_CELL_TEXT},
};

static uint64_t ctl_wait_s; /* 0: not given */
static bool ctl_force;

/* What a setting is now, as it would be set; NULL: nothing that stays. */
static const char *ctl_now(const struct kf_snapshot *s, const char *id,
			   char text[24])
{
	uint64_t mean = kf_snapshot_value(s, "sample_mean");

	if (!strcmp(id, "record"))
		return kf_snapshot_value(s, "recording") ? "on" : "off";
	if (!strcmp(id, "family")) {
		snprintf(text, 24, "%u", s->family);
		return text;
	}
	if (strcmp(id, "sample") != 0)
		return NULL;
	if (kf_snapshot_value(s, "sample_default"))
		return "default";
	if (mean && mean % 1024 == 0)
		snprintf(text, 24, "%lluK", (unsigned long long)mean / 1024);
	else
		snprintf(text, 24, "%llu", (unsigned long long)mean);
	return mean ? text : "off";
}

static int ctl_list_settings(const struct kf_cli *cli)
{
	struct kf_one one;
	struct kf_table t;
	char text[24];
	int status = kf_one_find(cli, NULL, &one);

	if (status)
		return status;
	kf_table_init(&t, ctl_columns, KF_ARRAY_SIZE(ctl_columns));
	for (size_t i = 0; i < KF_ARRAY_SIZE(ctl_controls); i++) {
		struct kf_cell *row = kf_table_row(&t);
		const char *now =
			ctl_now(&one.file->snap, ctl_controls[i].id, text);

		kf_cell_text(&row[SETTING], ctl_controls[i].id);
		kf_cell_text(&row[NOW], now ? now : "");
		kf_cell_text(&row[ARGUMENT], ctl_controls[i].argument);
		kf_cell_text(&row[HELP], ctl_controls[i].help);
	}
	kf_table_print(&t, cli);
	kf_table_release(&t);
	kf_one_release(&one);
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

/* Returns 0, or the exit status after a message. */
static int ctl_check(const char *order)
{
	const char *value = strchr(order, '=');
	uint64_t mean, family;

	if (!ctl_is_known(order)) {
		kf_error(
			"ctl: '%s' is not SETTING=VALUE: 'konfiscator ctl PID' lists the settings",
			order);
		return KF_EXIT_USAGE;
	}
	if (!strncmp(order, "family=", 7) &&
	    (!kf_parse_u64(value + 1, &family) || family > UINT32_MAX)) {
		kf_error(
			"ctl: family: '%s' is not a number from 0 to 4294967295",
			value + 1);
		return KF_EXIT_USAGE;
	}
	if ((!strncmp(order, "pinned=", 7) || !strncmp(order, "map=", 4)) &&
	    strcmp(value, "=now") != 0) {
		kf_error("ctl: %.*s: '%s' is not now", (int)(value - order),
			 order, value + 1);
		return KF_EXIT_USAGE;
	}
	if (strncmp(order, "sample=", 7) || !strcmp(value, "=off") ||
	    !strcmp(value, "=default") ||
	    kf_order_parse_sample(value + 1, &mean))
		return 0;
	kf_error("ctl: sample: '%s' is not default, off, " KF_SAMPLE_RANGE,
		 value + 1);
	return KF_EXIT_USAGE;
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
	char safe[4 * sizeof(((struct kf_answer *)0)->replaced)];
	struct kf_answer answer = {0};
	char *text = order_text(arg);
	unsigned int flags = (ctl_force ? KF_ORDER_FORCE : 0) |
			     (ctl_wait_s ? KF_ORDER_WITHDRAW : 0);
	enum kf_order_result r =
		kf_order_give("/proc", f, text,
			      ctl_wait_s ? ctl_wait_s : BUSY_S, flags, &answer);

	free(text);
	if (answer.replaced[0])
		kf_note(cli,
			"ctl: this replaces the order '%s', which the process had not taken yet",
			kf_escape(safe, sizeof(safe), answer.replaced));
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
		kf_note(cli,
			"ctl: %s is pending: it takes effect at the next slow path of process %d, which now allocates nothing, or only reuses blocks that it has just freed",
			arg, kf_process_id(f));
		return KF_EXIT_OK;
	case KF_ORDER_WITHDRAWN:
		kf_error(
			"ctl: process %d did not answer within %llu s: the order is withdrawn",
			kf_process_id(f), (unsigned long long)ctl_wait_s);
		return KF_EXIT_FAILED;
	default:
		kf_error("ctl: %s/%s: %s", f->dir, f->name, strerror(errno));
		return KF_EXIT_FAILED;
	}
}

static int give_all(struct kf_cli *cli, char **orders)
{
	struct kf_one one;
	int status = kf_one_find(cli, NULL, &one);

	if (status)
		return status;
	while (!status && *orders)
		status = ctl_give_order(cli, one.file, *orders++);
	kf_one_release(&one);
	return status;
}

static int ctl_option(struct kf_cli *cli, int key, const char *arg)
{
	if (key == OPT_FORCE) {
		ctl_force = true;
		return 0;
	}
	if (!kf_parse_u64(arg, &ctl_wait_s) || !ctl_wait_s ||
	    ctl_wait_s > WAIT_MAX_S) {
		kf_error("ctl: --%s: '%s' is not a number of seconds from 1 "
			 "to %d",
			 key == OPT_WAIT ? "wait" : "timeout", arg, WAIT_MAX_S);
		return KF_EXIT_USAGE;
	}
	return 0;
}

static int ctl_run(struct kf_cli *cli, int argc, char **argv)
{
	int status;

	if (!kf_select_any(&cli->select)) {
		kf_error(argc ? "ctl: '%s' is not a process number"
			      : "ctl: a process is missing: konfiscator ctl "
				"PID",
			 argc ? argv[0] : "");
		return KF_EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++) {
		status = ctl_check(argv[i]);
		if (status)
			return status;
	}
	return argc ? give_all(cli, argv) : ctl_list_settings(cli);
}

static const struct kf_option ctl_options[] = {
	{OPT_WAIT, "wait", "SEC",
	 "wait SEC seconds for the answer, and withdraw the order if there is none"},
	{OPT_TIMEOUT, "timeout", "SEC", "the same as --wait"},
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
		"answers the next time one of its calls takes the slow path, which may be long\n"
		"after this command has ended; --wait waits for it.",
	.examples =
		"  konfiscator ctl 4711                    list the settings\n"
		"  konfiscator ctl 4711 sample=64K         sample from now on\n"
		"  konfiscator ctl 4711 record=/tmp/x      record every call from now on",
	.options = ctl_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.option = ctl_option,
	.run = ctl_run,
};
