/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator report: shows a recording of a heap's history, or a profile. The
 * file's magic number tells which of them FILE is; profiles have views of their
 * own (profile/views.h).
 *
 * A recording is read once, from its begin to its end or to --to. The view gets
 * each event and prints its result at the end.
 */
#include "config.h"

#include "cli/one.h"
#include "cli/profile/views.h"
#include "cli/report/report.h"
#include "cli/serve.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct kf_view *const report_views[] = {
#define KF_VIEW(id) &kf_view_##id,
#include "cli/report/views.def"
#undef KF_VIEW
};

static struct kf_report report_state = {
	.rows = SIZE_MAX,
	.pick = {.to = UINT64_MAX, .max_size = UINT64_MAX},
};
static struct kf_profile_pick profile_pick = {.at = -1, .usual = true};
static const struct kf_view *view_asked, *export_asked;
static const char *view_name;	 /* of view_asked, or of a profile's view */
static const char *history_only; /* an option that is not for profiles */
static const char *profile_only;
static struct sockaddr_in serve_at; /* of --serve and --listen */

const char *kf_report_function(unsigned int kind)
{
	static const char *const names[KF_RECORD_NR_KINDS] = {
#define KF_EVENT(id, number, fields, name, effect, help) [number] = (name),
#include "record/events.def"
#undef KF_EVENT
	};

	return kind < KF_RECORD_NR_KINDS && names[kind] ? names[kind] : "?";
}

const char *kf_report_program(const struct kf_report *r)
{
	const struct kf_stats_identity *id = &r->history.head.identity;

	return id->name[0] ? id->name : id->comm;
}

void kf_report_thread(const struct kf_report *r, uint32_t thread,
		      struct kf_cell *name, struct kf_cell *tid)
{
	const struct kf_history_thread *t;

	if (thread >= r->history.nr_threads)
		return;
	t = &r->history.threads[thread];
	kf_cell_text(name, t->name);
	if (!tid)
		return;
	tid->count = (uint64_t)t->tid;
	tid->none = !t->tid;
}

int kf_report_table(const struct kf_report *r, struct kf_table *t, int sort,
		    size_t usual)
{
	size_t nr = t->nr_rows;
	size_t most = r->rows_given ? r->rows : usual;

	if (sort >= 0)
		kf_table_sort(t, sort);
	/* JSON and CSV are for programs: they get all rows */
	if (r->cli->format != KF_FORMAT_TABLE && !r->rows_given)
		most = SIZE_MAX;
	t->nr_rows = KF_MIN(nr, most);
	kf_table_print(t, r->cli);
	if (t->nr_rows < nr)
		kf_note(r->cli, "report: %zu of %zu rows: --rows=0 shows all",
			t->nr_rows, nr);
	t->nr_rows = nr;
	kf_table_release(t);
	return KF_EXIT_OK;
}

int kf_report_leaks_status(const struct kf_report *r, uint64_t bytes,
			   uint64_t error)
{
	char about[32], more[32];

	if (!r->fail_on_leak || !bytes)
		return KF_EXIT_OK;
	if (error)
		kf_error("report: about %s (+- %s) were not freed",
			 kf_human_bytes(about, sizeof(about), bytes),
			 kf_human_bytes(more, sizeof(more), error));
	else
		kf_error("report: %llu bytes were not freed",
			 (unsigned long long)bytes);
	return KF_EXIT_FAILED;
}

/* Threads are known once their events were read. */
static int report_unmatched(struct kf_report *r)
{
	bool any = !r->pick.threads;

	for (uint32_t i = 0; !any && i < r->history.nr_threads; i++)
		any = kf_report_thread_is_picked(i, r);
	if (any)
		return 0;
	kf_error("report: --thread: nothing in %s matches '%s'", r->path,
		 r->pick.threads);
	return KF_EXIT_NO_MATCH;
}

static int report_play(struct kf_report *r)
{
	struct kf_history_event e;
	struct kf_step step;
	int rc;

	while ((rc = kf_history_next(&r->history, &e)) > 0) {
		if (e.time > r->pick.to)
			break;
		rc = kf_replay_step(&r->replay, &e, &step);
		if (rc < 0)
			break;
		if (rc && r->view->step)
			r->view->step(r, &step);
		kf_progress(r);
	}
	kf_progress_end();
	if (rc >= 0)
		return report_unmatched(r);
	kf_error("out of memory");
	return KF_EXIT_FAILED;
}

static int report_print(struct kf_report *r)
{
	struct kf_output o;
	int status;

	if (!r->output)
		kf_pager_start(r->cli);
	if (!r->view->exports)
		return r->view->end(r);
	if (kf_output_open(&o, r->output))
		return KF_EXIT_FAILED;
	r->out = o.file;
	if (r->view->begin)
		r->view->begin(r);
	status = report_play(r);
	if (!status)
		status = r->view->end(r);
	if (kf_output_close(&o, !status))
		status = KF_EXIT_FAILED;
	return status;
}

static int report_show(struct kf_report *r)
{
	struct kf_replay_pick pick = {
		.from = r->pick.from,
		.min_size = r->pick.min_size,
		.max_size = r->pick.max_size,
		.kinds = r->pick.kinds,
		.thread = r->pick.threads ? kf_report_thread_is_picked : NULL,
		.thread_arg = r,
	};
	int status;

	if (kf_replay_init(&r->replay, &r->history, &pick)) {
		kf_error("out of memory");
		return KF_EXIT_FAILED;
	}
	if (r->view->exports)
		return report_print(r);
	if (r->view->begin)
		r->view->begin(r);
	status = report_play(r);
	if (!status)
		status = r->output ? kf_plot(r) : report_print(r);
	return status;
}

static int report_open(struct kf_report *r)
{
	return kf_report_open(r, "neither a recording nor a profile");
}

static const struct kf_view *view_find(const char *name, bool exports)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(report_views); i++) {
		if (!strcmp(report_views[i]->name, name) &&
		    report_views[i]->exports == exports)
			return report_views[i];
	}
	return NULL;
}

static char *view_names(bool exports)
{
	char *all = kf_format("%s", "");

	for (size_t i = 0; i < KF_ARRAY_SIZE(report_views); i++) {
		char *longer;

		if (report_views[i]->exports != exports)
			continue;
		longer = kf_format("%s%s%s", all, all[0] ? ", " : "",
				   report_views[i]->name);
		free(all);
		all = longer;
	}
	return all;
}

/* The views of profiles; the kind of FILE is not known when options are read.
 */
static const char profile_views[] =
#define KF_PROFILE_VIEW(id) " " #id
#define KF_PROFILE_FORMAT(id)
#include "cli/profile/views.def"
#undef KF_PROFILE_VIEW
#undef KF_PROFILE_FORMAT
	;

static int report_take_view(const char *option, const char *name, bool exports,
			    const struct kf_view **view)
{
	char *names;

	*view = view_find(name, exports);
	if (!exports)
		view_name = name;
	if (*view || (!exports && kf_prof_view_find(name)))
		return 0;
	names = view_names(exports);
	kf_error("report: --%s: '%s' is not one of %s%s%s%s", option, name,
		 names, exports ? "" : "; of a profile it is one of",
		 exports ? "" : profile_views,
		 exports || strcmp(name, "flame") != 0
			 ? ""
			 : ", and a flame graph is -o FILE.html or FILE.svg");
	free(names);
	return KF_EXIT_USAGE;
}

/* Refuses suffixes such as .speedscope.json: a recording has no such format. */
static bool is_only_of_profiles(const char *path)
{
	const char *suffix = path ? kf_prof_format_suffix(path) : NULL;

	if (!suffix || !strchr(suffix, '.'))
		return false;
	kf_error("report: -o: '%s': .%s files are made of profiles, not of "
		 "recordings",
		 path, suffix);
	return true;
}

/* Chooses the view by --view, --export and the suffix of -o. */
static int choose_view(struct kf_report *r)
{
	const char *dot = r->output ? strrchr(r->output, '.') : NULL;
	bool picture = r->output && kf_plot_is_picture(r->output);

	if (is_only_of_profiles(r->output))
		return KF_EXIT_USAGE;
	r->view = export_asked;
	if (!r->view && dot && !picture && !view_asked)
		r->view = view_find(dot + 1, true);
	if (r->view)
		return 0;
	if (r->output && !picture) {
		kf_error("report: -o: '%s' does not end in .png, .svg, .pdf, "
			 ".log, .csv, .json or .massif",
			 r->output);
		return KF_EXIT_USAGE;
	}
	r->view = view_asked ? view_asked
		  : picture  ? &kf_view_timeline
			     : &kf_view_summary;
	if (picture && !r->view->draw) {
		kf_error("report: -o: only --view=timeline and --view=latency "
			 "can be drawn, not %s",
			 r->view->name);
		return KF_EXIT_USAGE;
	}
	return 0;
}

static int run_profile(struct kf_report *r)
{
	if (history_only || export_asked) {
		kf_error(
			"report: --%s is for recordings, but this is a profile",
			export_asked ? "export" : history_only);
		return KF_EXIT_USAGE;
	}
	return kf_prof_report(r, &profile_pick, view_name);
}

/* Refuses what is no file, and options that are only for profiles. */
static int check_history(struct kf_report *r)
{
	if (access(r->path, F_OK))
		return report_open(r);
	if (!profile_only && (!view_name || view_asked))
		return 0;
	kf_error("report: --%s%s is for profiles, but this is a recording",
		 profile_only ? profile_only : "view=",
		 profile_only ? "" : view_name);
	return KF_EXIT_USAGE;
}

static int run_history(struct kf_report *r)
{
	int status = check_history(r);

	if (!status)
		status = choose_view(r);
	if (status)
		return status;
	status = report_open(r);
	if (!status)
		status = report_show(r);
	if (!status)
		kf_report_tell_losses(r);
	if (r->view->release)
		r->view->release();
	kf_replay_release(&r->replay);
	kf_history_close(&r->history);
	return status;
}

static int report_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_report *r = &report_state;
	int status = 0;
	char *path;

	if (argc + kf_select_any(&cli->select) != 1) {
		kf_error(argc ? "report: give one file, or select one process"
			      : "report: PID or FILE is missing: see "
				"konfiscator report --help");
		return KF_EXIT_USAGE;
	}
	if (r->pick.from > r->pick.to) {
		kf_error("report: --from is after --to");
		return KF_EXIT_USAGE;
	}
	if (r->serve && (r->output || view_name || export_asked)) {
		kf_error("report: --serve and %s exclude each other",
			 r->output   ? "-o"
			 : view_name ? "--view (or --leaks)"
				     : "--export");
		return KF_EXIT_USAGE;
	}
	if (export_asked && view_asked) {
		kf_error("report: --view and --export exclude each other");
		return KF_EXIT_USAGE;
	}
	r->cli = cli;
	r->path = path =
		argc ? kf_format("%s", argv[0]) : kf_one_path(cli, &status);
	if (!status)
		status = kf_prof_is_one(r->path) ? run_profile(r)
						 : run_history(r);
	free(path);
	return status;
}

enum {
	OPT_VIEW = KF_PICK_END,
	OPT_LEAKS,
	OPT_FAIL,
	OPT_EXPORT,
	OPT_ROWS,
	OPT_SERVE,
	OPT_LISTEN
};

static int take_rows(const char *arg)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-' || n > 1000000000) {
		kf_error("report: --rows: '%s' is not a number from 0 to "
			 "1000000000",
			 arg);
		return KF_EXIT_USAGE;
	}
	report_state.rows = n ? n : SIZE_MAX;
	report_state.rows_given = true;
	return 0;
}

static int take_listen(const char *arg)
{
	profile_only = "serve";
	report_state.serve = &serve_at;
	if (kf_serve_parse(arg, &serve_at))
		return 0;
	kf_error(
		"report: --listen: '%s' is not a port of the loopback, such as 8000 or 127.0.0.1:8000",
		arg);
	return KF_EXIT_USAGE;
}

static const struct kf_option report_options[] = {
	{OPT_VIEW, "view", "VIEW",
	 "show this view (default summary; of a profile top)"},
	{OPT_LEAKS, "leaks", NULL, "the same as --view=leaks"},
	{OPT_FAIL, "fail-on-leak", NULL,
	 "show leaks, and exit with status 1 if there are any"},
	{'o', "output", "FILE",
	 "write a picture, a page or an export; the suffix chooses the format"},
	{OPT_SERVE, "serve", NULL,
	 "profiles: serve the page of -o FILE.html to your browser, on a free port of the loopback, until Ctrl-C"},
	{OPT_LISTEN, "listen", "[ADDRESS:]PORT",
	 "profiles: serve the page on this loopback address"},
	{OPT_EXPORT, "export", "FORMAT",
	 "print all events or levels in a format for other programs"},
	{OPT_ROWS, "rows", "N", "print at most N rows of a table (0: all)"},
	{KF_PICK_FROM, "from", "SEC", "ignore events before this time"},
	{KF_PICK_TO, "to", "SEC", "ignore events after this time"},
	{KF_PICK_THREAD, "thread", "TID|GLOB,...", "count only these threads"},
	{KF_PICK_FUNCTION, "function", "NAME,...",
	 "count only these of malloc, calloc, aligned, realloc, free"},
	{KF_PICK_SIZE, "size", "MIN-MAX",
	 "count only requests of MIN to MAX bytes"},
	{KF_PROFILE_METRIC, "metric", "live|peak|peaks|alloc|count|blocks",
	 "profiles: show this metric (default live; peak if the program has ended)"},
	{KF_PROFILE_GROUP, "group", "function|line|lib|tag|thread|process",
	 "profiles: group call stacks by this (default function)"},
	{KF_PROFILE_FILTER, "filter", "REGEX",
	 "profiles: show only stacks in which a name matches REGEX"},
	{KF_PROFILE_PROCESS_KEY, "process", "PID|GLOB",
	 "profiles: show only stacks of this process, or of processes with this name"},
	{KF_PROFILE_AT, "at", "SEC", "profiles: show the state at this time"},
	{0},
};

static const char *option_name(int key)
{
	const struct kf_option *o = report_options;

	while (o->key && o->key != key)
		o++;
	return o->name;
}

static int report_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case OPT_VIEW:
		return report_take_view("view", arg, false, &view_asked);
	case OPT_FAIL:
		report_state.fail_on_leak = true;
		/* fall through */
	case OPT_LEAKS:
		return report_take_view("view", "leaks", false, &view_asked);
	case OPT_EXPORT:
		return report_take_view("export", arg, true, &export_asked);
	case OPT_ROWS:
		return take_rows(arg);
	case OPT_SERVE:
		return report_state.serve ? 0 : take_listen("0");
	case OPT_LISTEN:
		return take_listen(arg);
	case 'o':
		report_state.output = arg;
		return 0;
	default:
		if (key >= KF_PROFILE_METRIC) {
			profile_only = option_name(key);
			return kf_profile_pick_option(&profile_pick, "report",
						      key, arg);
		}
		history_only = option_name(key);
		return kf_report_option(&report_state.pick, key, arg);
	}
}

const struct kf_command kf_command_report = {
	.name = "report",
	.args = "PID|FILE",
	.help = "Show a profile or a recording of a heap",
	.about =
		"Views of a recording: summary, timeline, top, sizes, threads, lifetimes, leaks,\n"
		"latency, anomalies; timeline and latency can be drawn as .png, .svg or .pdf.\n"
		"Exports: log, trace, csv, json, massif. Views of a profile or a stats file: top,\n"
		"tree, leaks, ages, timeline, summary; output formats: .pb.gz, .folded, .html, .svg,\n"
		".speedscope.json, .firefox.json, .perfetto-trace, .json, .csv, .massif. Times are\n"
		"seconds since the recording began.",
	.examples =
		"  konfiscator report 4711                 live memory of a process, by function\n"
		"  konfiscator report before               a profile\n"
		"  konfiscator report -o before.html before    a page with a flame graph\n"
		"  konfiscator report --serve 4711         ... in your browser\n"
		"  konfiscator report --leaks --fail-on-leak t.profile    for tests",
	.options = report_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.selects_ended = true,
	.stacks = true,
	.pages = true,
	.option = report_option,
	.run = report_run,
};
