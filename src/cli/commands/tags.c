/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator tags: the memory of a program by the tags that it set.
 *
 * Tags come from the stats file of a process, which may have ended, or from a
 * JSON snapshot. Snapshots are written too, so that the output of one run is
 * the input of the next.
 */
#include "config.h"

#include "cli/one.h"
#include "cli/output.h"
#include "cli/tags/tags.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

enum view { VIEW_TREE, VIEW_FLAT, VIEW_DOT };

#define MAX_PATTERNS 16

static enum view tags_view;
static bool view_given, tags_diff, tags_full, tags_stacks;
static const char *tags_output;
static const char *tags_patterns[MAX_PATTERNS];
static unsigned int nr_patterns;

/* The formats of -o by suffix; pictures are drawn by dot(1). */
static const struct kind {
	const char *suffix;
	const char *option; /* option of dot(1); NULL: not a picture */
} tags_kinds[] = {
	{".json", NULL},   {".dot", NULL},    {".svg", "-Tsvg"},
	{".png", "-Tpng"}, {".pdf", "-Tpdf"},
};

static const struct kind *tags_kind(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < KF_ARRAY_SIZE(tags_kinds); i++) {
		if (!strcasecmp(dot, tags_kinds[i].suffix))
			return &tags_kinds[i];
	}
	return NULL;
}

static bool tags_write_to(void *file, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, file) == len;
}

/* The options for printing a tree on stdout; files have the defaults. */
static unsigned int tree_flags(const struct kf_cli *cli)
{
	return (tags_full ? KF_TREE_SMALL : 0) |
	       (cli->exact ? KF_TREE_EXACT : 0) |
	       (cli->no_header ? KF_TREE_BARE : 0);
}

static bool tags_write_view(const struct kf_tag_set *set, FILE *out, bool json,
			    unsigned int how)
{
	const struct kf_tags_sink sink = {.write = tags_write_to, .arg = out};
	struct kf_tags_view v;
	bool good;

	kf_tag_set_view(set, &v);
	good = json		       ? kf_tags_write_json(&v, &sink)
	       : tags_view == VIEW_DOT ? kf_tags_write_dot(&v, &sink)
				       : kf_tags_write_tree(&v, how, &sink);
	free(v.node);
	return good;
}

static int tags_draw(const struct kf_tag_set *set, int out, const char *option)
{
	const char *const argv[] = {"dot", option, NULL};
	struct kf_painter dot = {.argv = argv, .package = "graphviz"};

	if (kf_painter_start(&dot, out))
		return -1;
	tags_write_view(set, dot.in, false, 0);
	return kf_painter_end(&dot);
}

static int tags_write_file(const struct kf_tag_set *set)
{
	const struct kind *kind = tags_kind(tags_output);
	struct kf_output o;
	int rc = 0;

	if (kf_output_open(&o, tags_output))
		return KF_EXIT_FAILED;
	if (strcmp(kind->suffix, ".json"))
		tags_view = VIEW_DOT;
	if (kind->option)
		rc = tags_draw(set, fileno(o.file), kind->option);
	else if (!tags_write_view(set, o.file, tags_view != VIEW_DOT, 0))
		rc = -1;
	if (kf_output_close(&o, !rc))
		rc = -1;
	return rc ? KF_EXIT_FAILED : KF_EXIT_OK;
}

static int tags_show(const struct kf_cli *cli, const struct kf_tag_set *set)
{
	if (tags_output)
		return tags_write_file(set);
	kf_pager_start(cli);
	if (tags_view == VIEW_FLAT)
		kf_tags_flat(set, cli);
	else
		tags_write_view(set, stdout, cli->format == KF_FORMAT_JSON,
				tree_flags(cli));
	return KF_EXIT_OK;
}

static int load_process(const struct kf_cli *cli, struct kf_tag_set *set)
{
	struct kf_one one;
	int status = kf_one_find(cli, NULL, &one);

	if (status)
		return status;
	kf_tag_set_of_file(set, one.file);
	kf_one_release(&one);
	return 0;
}

static int run_stacks(const struct kf_cli *cli, const char *path)
{
	struct kf_one one;
	int status;
	char *of_process;

	if (path)
		return kf_tags_stacks(cli, path, tags_full);
	status = kf_one_find(cli, NULL, &one);
	if (status)
		return status;
	of_process = kf_format("%s/%s", one.file->dir, one.file->name);
	status = kf_tags_stacks(cli, of_process, tags_full);
	free(of_process);
	kf_one_release(&one);
	return status;
}

static int tags_aggregate(const struct kf_cli *cli, struct kf_tag_set *set)
{
	for (unsigned int i = 0; i < nr_patterns; i++) {
		int nr = kf_tag_set_aggregate(set, tags_patterns[i]);

		if (nr < 0)
			return KF_EXIT_USAGE;
		if (!nr)
			kf_note(cli,
				"tags: --aggregate: no thread matches '%s'",
				tags_patterns[i]);
	}
	return 0;
}

static int tags_load(const struct kf_cli *cli, struct kf_tag_set *set,
		     const char *path)
{
	int status = path ? kf_tag_set_load(set, path) : load_process(cli, set);

	return status ? status : tags_aggregate(cli, set);
}

static int tags_run_one(const struct kf_cli *cli, const char *path)
{
	struct kf_tag_set set = {0};
	int status = tags_load(cli, &set, path);

	if (!status && set.nr < 2)
		kf_note(cli, "tags: no tags");
	if (!status)
		status = tags_show(cli, &set);
	kf_tag_set_release(&set);
	return status;
}

static int run_diff(const struct kf_cli *cli, char **argv)
{
	struct kf_tag_set then = {0}, now = {0};
	int status = tags_load(cli, &then, argv[0]);

	if (!status)
		status = tags_load(cli, &now, argv[1]);
	if (!status)
		kf_tags_diff(&then, &now, tags_full, cli);
	kf_tag_set_release(&then);
	kf_tag_set_release(&now);
	return status;
}

static int tags_refuse(const char *why)
{
	kf_error("tags: %s", why);
	return KF_EXIT_USAGE;
}

static int tags_check(const struct kf_cli *cli, int argc)
{
	if (tags_diff && argc != 2)
		return tags_refuse("--diff needs two files, the older one "
				   "first");
	if (!tags_diff && argc > 1)
		return tags_refuse("only one file can be given");
	if (argc && kf_select_any(&cli->select))
		return tags_refuse("give a file or select a process, not both");
	if (tags_diff && (tags_output || view_given))
		return tags_refuse(
			"--diff cannot be combined with --view or -o");
	if (tags_stacks &&
	    (tags_diff || tags_output || view_given || nr_patterns))
		return tags_refuse("--stacks cannot be combined with --diff, "
				   "--view, -o or --aggregate");
	if (tags_output && view_given)
		return tags_refuse("--view and -o exclude each other");
	if (tags_output && cli->format != KF_FORMAT_TABLE)
		return tags_refuse("--format and -o exclude each other");
	if (cli->format == KF_FORMAT_CSV && !tags_diff && !tags_stacks &&
	    tags_view != VIEW_FLAT)
		return tags_refuse("--format=csv is for --view=flat, --diff "
				   "and --stacks");
	if (cli->format == KF_FORMAT_JSON && tags_view == VIEW_DOT)
		return tags_refuse("--view=dot and --format=json exclude each "
				   "other");
	return 0;
}

static int tags_run(struct kf_cli *cli, int argc, char **argv)
{
	int status = tags_check(cli, argc);

	if (status)
		return status;
	cli->tables = KF_TABLE_TAGS;
	if (tags_stacks)
		return run_stacks(cli, argv[0]);
	return tags_diff ? run_diff(cli, argv) : tags_run_one(cli, argv[0]);
}

static int tags_take_view(const char *arg)
{
	view_given = true;
	if (!strcmp(arg, "tree"))
		tags_view = VIEW_TREE;
	else if (!strcmp(arg, "flat"))
		tags_view = VIEW_FLAT;
	else if (!strcmp(arg, "dot"))
		tags_view = VIEW_DOT;
	else {
		kf_error("tags: --view: '%s' is not tree, flat or dot", arg);
		return KF_EXIT_USAGE;
	}
	return 0;
}

static int tags_take_output(const char *arg)
{
	if (!tags_kind(arg)) {
		kf_error("tags: -o: '%s' does not end in .json, .dot, .svg, "
			 ".png or .pdf",
			 arg);
		return KF_EXIT_USAGE;
	}
	tags_output = arg;
	return 0;
}

enum { OPT_VIEW = KF_OPT_OWN, OPT_AGGREGATE, OPT_DIFF, OPT_STACKS, OPT_FULL };

static int tags_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_VIEW:
		return tags_take_view(arg);
	case 'o':
		return tags_take_output(arg);
	case OPT_AGGREGATE:
		if (nr_patterns == MAX_PATTERNS)
			return tags_refuse("--aggregate: can be given at most "
					   "16 times");
		tags_patterns[nr_patterns++] = arg;
		return 0;
	case OPT_DIFF:
		tags_diff = true;
		return 0;
	case OPT_STACKS:
		tags_stacks = true;
		return 0;
	default:
		tags_full = true;
		return 0;
	}
}

static const struct kf_option tags_options[] = {
	{OPT_VIEW, "view", "tree|flat|dot", "show this view (default tree)"},
	{'o', "output", "FILE",
	 "write a picture (.svg, .png, .pdf), a graph (.dot) or a snapshot (.json)"},
	{OPT_AGGREGATE, "aggregate", "REGEX",
	 "merge the trees of threads whose names match; may be given several times"},
	{OPT_DIFF, "diff", NULL, "show the differences between two files"},
	{OPT_STACKS, "stacks", NULL,
	 "show live memory by call stack, for the tags in KONFISCATOR_TAG_STACKS"},
	{OPT_FULL, "full", NULL,
	 "include small tags, unchanged tags and stacks without live blocks"},
	{0},
};

const struct kf_command kf_command_tags = {
	.name = "tags",
	.args = "[PID|FILE [FILE]]",
	.help = "Show how much of a program's memory each tag has",
	.about =
		"FILE is a stats file, or a JSON snapshot of konfiscator or malloc-tag; - reads\n"
		"JSON from stdin. Without FILE the options below select a process. LIVE includes\n"
		"the tags below; SELF, PEAK and EVER are of the tag alone. --format=json prints a\n"
		"snapshot that this command can read.",
	.examples =
		"  konfiscator tags                        the tags of all processes\n"
		"  konfiscator tags --full tags.json       a tree of tags from a file",
	.options = tags_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.selects_ended = true,
	.stacks = true,
	.pages = true,
	.option = tags_option,
	.run = tags_run,
};
