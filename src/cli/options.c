/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options from tables: getopt_long's arrays and the messages are derived from
 * them, and the text of --help in help.c. Global options are accepted before
 * and after the command; an option of the command overrides a global option of
 * the same name.
 */
#include "config.h"

#include "cli/help.h"
#include "reader/usage.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_OPTIONS 64

enum {
	OPT_DIR = KF_OPT_COMMON,
	OPT_FORMAT,
	OPT_BYTES,
	OPT_NO_HEADER,
	OPT_COLOR,
	OPT_NO_PAGER,
	OPT_RAW,
	OPT_NO_FOLD,
	OPT_FULL_NAMES,
	OPT_ATTACH
};

static const struct kf_option global_options[] = {
	{OPT_DIR, "dir", "DIR",
	 "read the stats files in DIR; may be given several times"},
	{OPT_FORMAT, "format", "table|json|csv|prom",
	 "print in this format (default table)"},
	{OPT_BYTES, "bytes", NULL, "print exact numbers in tables"},
	{OPT_NO_HEADER, "no-header", NULL,
	 "print no header line in tables and CSV"},
	{OPT_COLOR, "color", "auto|always|never",
	 "colour tables (default auto: on a terminal, unless NO_COLOR is set)"},
	{OPT_NO_PAGER, "no-pager", NULL, "do not run a pager"},
	{'q', "quiet", NULL, "print errors only"},
	{'v', NULL, NULL, "print more details"},
	{'h', "help", NULL, "print this and exit"},
	{'V', "version", NULL, "print the version and exit"},
	{0},
};

static const struct kf_option select_options[] = {
	{'p', "pid", "PID,...", "select these processes"},
	{'n', "name", "GLOB", "select processes by name"},
	{'c', "container", "ID",
	 "select processes in containers whose id begins with ID"},
	{'u', "user", "USER", "select processes of this user"},
	{0},
};

static const struct kf_option ended_options[] = {
	{'a', "all", NULL, "include processes that have ended"},
	{0},
};

static const struct kf_option stack_options[] = {
	{OPT_RAW, "raw", NULL,
	 "keep operator new and other wrappers of malloc"},
	{OPT_NO_FOLD, "no-fold", NULL, "do not shorten recursion to one call"},
	{OPT_FULL_NAMES, "full-names", NULL,
	 "do not shorten function names on a terminal"},
	{0},
};

static const struct kf_option attach_options[] = {
	{OPT_ATTACH, "attach", NULL,
	 "load the library first if the process runs without it"},
	{0},
};

/* The options of a command, as the arguments of getopt_long. */
struct options {
	size_t nr;
	char names[MAX_OPTIONS][KF_OPTION_NAME];
	struct option longs[MAX_OPTIONS];
	char shorts[2 * MAX_OPTIONS + 2];
};

static bool has_long(const struct options *o, const char *name)
{
	for (size_t i = 0; i < o->nr; i++) {
		if (!strcmp(o->longs[i].name, name))
			return true;
	}
	return false;
}

const char *kf_option_name(char buf[KF_OPTION_NAME], const char *name)
{
	snprintf(buf, KF_OPTION_NAME, "%s", name ? name : "");
	for (char *p = buf; *p; p++) {
		if (*p == '_')
			*p = '-';
	}
	return buf;
}

size_t kf_option_groups(const struct kf_command *c,
			struct kf_option_group groups[KF_OPTION_GROUPS])
{
	size_t nr = 0;

	if (c && c->options)
		groups[nr++] = (struct kf_option_group){"Options", c->options};
	if (c && c->selects)
		groups[nr++] = (struct kf_option_group){"Which processes",
							select_options};
	if (c && c->selects_ended)
		groups[nr++] = (struct kf_option_group){NULL, ended_options};
	if (c && c->stacks)
		groups[nr++] = (struct kf_option_group){
			"How call stacks are shown", stack_options};
	if (c && c->attaches)
		groups[nr++] = (struct kf_option_group){
			"For a process without the library", attach_options};
	groups[nr++] = (struct kf_option_group){"Options of all commands",
						global_options};
	return nr;
}

static void add_table(struct options *o, const struct kf_option *t)
{
	for (; t && t->key; t++) {
		const char *name = kf_option_name(o->names[o->nr], t->name);
		size_t len = strlen(o->shorts);

		if (t->key == KF_OPT_GROUP)
			continue;
		if (t->key < KF_OPT_COMMON && !strchr(o->shorts, t->key)) {
			o->shorts[len++] = (char)t->key;
			if (t->arg)
				o->shorts[len++] = ':';
			o->shorts[len] = '\0';
		}
		if (!t->name || has_long(o, name) || o->nr + 1 >= MAX_OPTIONS)
			continue;
		o->longs[o->nr++] = (struct option){
			name, t->arg ? required_argument : no_argument, NULL,
			t->key};
	}
}

static void options_make(struct options *o, const struct kf_command *c)
{
	struct kf_option_group groups[KF_OPTION_GROUPS];
	size_t nr;

	memset(o, 0, sizeof(*o));
	/*
	 * "+" ends the options at the command or program; ":" keeps
	 * getopt_long from printing messages of its own.
	 */
	snprintf(o->shorts, sizeof(o->shorts), !c || c->stops ? "+:" : ":");
	nr = kf_option_groups(c, groups);
	for (size_t i = 0; i < nr; i++)
		add_table(o, groups[i].options);
}

static int usage_status(const struct kf_cli *cli)
{
	int status = cli->command ? cli->command->usage_status : 0;

	return status ? status : KF_EXIT_USAGE;
}

static const struct {
	const char *name;
	enum kf_format format;
} output_formats[] = {
	{"table", KF_FORMAT_TABLE},
	{"json", KF_FORMAT_JSON},
	{"csv", KF_FORMAT_CSV},
	{"prom", KF_FORMAT_PROM},
};

int kf_options_refuse_format(const struct kf_cli *cli)
{
	const char *given = "";
	char names[64] = "";
	size_t len = 0;

	for (size_t i = 0; i < KF_ARRAY_SIZE(output_formats); i++) {
		if (cli->format == output_formats[i].format)
			given = output_formats[i].name;
		if (!(cli->command->formats & output_formats[i].format))
			continue;
		len += (size_t)snprintf(names + len, sizeof(names) - len,
					"%s%s", len ? ", " : "",
					output_formats[i].name);
	}
	kf_error("%s: --format: '%s' is not one of %s", cli->command->name,
		 given, names);
	return usage_status(cli);
}

static int take_format(struct kf_cli *cli, const char *arg)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(output_formats); i++) {
		if (!strcmp(arg, output_formats[i].name)) {
			cli->format = output_formats[i].format;
			return 0;
		}
	}
	kf_error("--format: '%s' is not table, json, csv or prom", arg);
	return usage_status(cli);
}

static int take_color(struct kf_cli *cli, const char *arg)
{
	const char *no_color = getenv("NO_COLOR");

	if (!strcmp(arg, "always"))
		cli->color = true;
	else if (!strcmp(arg, "never"))
		cli->color = false;
	else if (!strcmp(arg, "auto"))
		cli->color =
			isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
	else {
		kf_error("--color: '%s' is not auto, always or never", arg);
		return usage_status(cli);
	}
	return 0;
}

void kf_options_add_dir(struct kf_cli *cli, const char *dir)
{
	size_t nr = 0;

	while (cli->dirs && cli->dirs[nr])
		nr++;
	cli->dirs = realloc(cli->dirs, (nr + 2) * sizeof(*cli->dirs));
	if (!cli->dirs) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	cli->dirs[nr] = kf_format("%s", dir);
	cli->dirs[nr + 1] = NULL;
}

void kf_options_drop_dirs(struct kf_cli *cli)
{
	for (size_t i = 0; cli->dirs && cli->dirs[i]; i++)
		free((char *)cli->dirs[i]);
	free(cli->dirs);
	cli->dirs = NULL;
}

static int take_dir(struct kf_cli *cli, const char *dir)
{
	if (!dir[0]) {
		kf_error("--dir: the directory's name is empty");
		return usage_status(cli);
	}
	kf_options_add_dir(cli, dir);
	return 0;
}

static int take_global(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_DIR:
		return take_dir(cli, arg);
	case OPT_FORMAT:
		return take_format(cli, arg);
	case OPT_COLOR:
		return take_color(cli, arg);
	case OPT_BYTES:
		cli->exact = true;
		return 0;
	case OPT_NO_HEADER:
		cli->no_header = true;
		return 0;
	case OPT_NO_PAGER:
		cli->no_pager = true;
		return 0;
	case OPT_RAW:
		cli->raw = true;
		return 0;
	case OPT_NO_FOLD:
		cli->no_fold = true;
		return 0;
	case OPT_ATTACH:
		cli->attach = true;
		return 0;
	case OPT_FULL_NAMES:
		cli->full_names = true;
		return 0;
	case 'q':
		cli->quiet = true;
		return 0;
	default:
		cli->verbose = true;
		return 0;
	}
}

static bool in_table(const struct kf_option *t, int key)
{
	for (; t && t->key; t++) {
		if (t->key == key)
			return true;
	}
	return false;
}

static bool has_key(const struct kf_command *c, int key)
{
	struct kf_option_group groups[KF_OPTION_GROUPS];
	size_t nr = kf_option_groups(c, groups);

	for (size_t i = 0; i < nr; i++) {
		if (in_table(groups[i].options, key))
			return true;
	}
	return false;
}

static int options_take(struct kf_cli *cli, int key)
{
	const struct kf_command *c = cli->command;

	if (c && in_table(c->options, key))
		return c->option(cli, key, optarg);
	if (in_table(select_options, key) || in_table(ended_options, key))
		return kf_select_option(&cli->select, key, optarg);
	return take_global(cli, key, optarg);
}

/*
 * optopt is a letter that is not an option, or the key of an option that takes
 * no argument.
 */
static int wrong_option(const struct kf_cli *cli, const struct options *o,
			int key, const char *given)
{
	const char *help = cli->command ? cli->command->name : "";
	const char *gap = cli->command ? " " : "";
	bool letter = optopt && !has_key(cli->command, optopt);
	char why[256];

	if (key == ':')
		kf_error("option %s needs an argument: see konfiscator%s%s "
			 "--help",
			 given, gap, help);
	else if (letter)
		kf_error("unknown option -%c: see konfiscator%s%s --help",
			 optopt, gap, help);
	else
		kf_error("option %s %s: see konfiscator%s%s --help", given,
			 kf_usage_refused(why, sizeof(why), o->longs, given),
			 gap, help);
	return usage_status(cli);
}

int kf_options_parse(struct kf_cli *cli, int argc, char **argv, int *status)
{
	struct options o;
	int key;

	if (!cli->command)
		take_color(cli, "auto");
	options_make(&o, cli->command);
	optind = 0;
	opterr = 0;
	while ((key = getopt_long(argc, argv, o.shorts, o.longs, NULL)) != -1) {
		*status = KF_EXIT_OK;
		if (key == '?' || key == ':') {
			*status = wrong_option(cli, &o, key, argv[optind - 1]);
			return -1;
		}
		if (key == 'h') {
			kf_help_print(cli->command);
			return -1;
		}
		if (key == 'V') {
			printf("konfiscator %s\n", PACKAGE_VERSION);
			return -1;
		}
		*status = options_take(cli, key);
		if (*status)
			return -1;
	}
	return optind;
}
