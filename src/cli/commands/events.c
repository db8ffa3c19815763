/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator events: the latest slow-path events of each thread. They are read
 * from the rings in the stats file, so events of killed processes are there
 * too.
 */
#include "config.h"

#include "cli/commands/events.h"
#include "cli/one.h"
#include "cli/table.h"
#include "stats/box.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)

/*
 * --follow reads the rings every LOOK_NS and prints events older than LATE_NS:
 * a thread may store an event later than another thread's newer one.
 */
#define LOOK_NS ((uint64_t)200000000)
#define LATE_NS ((uint64_t)50000000)

enum { NEITHER, ADDRESS, BYTES, BOTH };

static const struct kind {
	const char *name;
	unsigned int shows;
} event_kinds[KF_NR_BOX_KINDS] = {
#define KF_BOX(id, number, probe, address, bytes, clock, shows, help) \
	[KF_BOX_##id] = {#id, shows},
#include "stats/box.def"
#undef KF_BOX
};

static const char *events_thread;
static bool events_follow;
static bool events_wanted[KF_NR_BOX_KINDS];
static bool by_kind;

enum { TIME, TID, THREAD, EVENT, AT, SIZE, MONOTONIC };

static const struct kf_column events_columns[] = {
	[TIME] = {"TIME", "time", KF_CELL_TEXT},
	[TID] = {"TID", "tid", KF_CELL_COUNT},
	[THREAD] = {"THREAD", "thread", KF_CELL_TEXT},
	[EVENT] = {"EVENT", "event", KF_CELL_TEXT},
	[AT] = {"ADDRESS", "address", KF_CELL_TEXT},
	[SIZE] = {"SIZE", "bytes", KF_CELL_BYTES},
	[MONOTONIC] = {NULL, "monotonic_ns", KF_CELL_COUNT},
};

static bool is_wanted(const struct kf_event *e)
{
	char tid[16];

	if (by_kind && (e->kind >= KF_NR_BOX_KINDS || !events_wanted[e->kind]))
		return false;
	snprintf(tid, sizeof(tid), "%d", e->tid);
	return !events_thread || !strcmp(events_thread, tid) ||
	       !fnmatch(events_thread, e->thread, 0);
}

/* The time of day: the file has both clocks' times of its creation. */
static void tell_time(struct kf_cell *cell, const struct kf_event *e,
		      const struct kf_stats_identity *id, bool whole)
{
	uint64_t ns = id->created_ns - id->created_mono + e->time_ns;
	time_t seconds = (time_t)(ns / SECOND);
	char day[64] = "", text[96];
	struct tm tm;

	if (whole ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm))
		strftime(day, sizeof(day), whole ? "%Y-%m-%dT%T" : "%T", &tm);
	if (whole)
		snprintf(text, sizeof(text), "%s.%09uZ", day,
			 (unsigned int)(ns % SECOND));
	else
		snprintf(text, sizeof(text), "%s.%06u", day,
			 (unsigned int)(ns % SECOND / 1000));
	kf_cell_text(cell, text);
}

static void tell_kind(struct kf_cell *row, const struct kf_event *e)
{
	bool known = e->kind < KF_NR_BOX_KINDS && event_kinds[e->kind].name;
	unsigned int shows = known ? event_kinds[e->kind].shows : BOTH;
	char text[32];

	snprintf(text, sizeof(text), "kind %u", e->kind);
	kf_cell_text(&row[EVENT], known ? event_kinds[e->kind].name : text);
	if (e->kind >= KF_BOX_out_of_memory)
		row[EVENT].mark = KF_MARK_BAD;
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)e->address);
	kf_cell_text(&row[AT], shows & ADDRESS ? text : "");
	row[AT].none = !(shows & ADDRESS);
	row[SIZE].count = e->bytes;
	row[SIZE].none = !(shows & BYTES);
}

static void events_add_row(struct kf_table *t, const struct kf_cli *cli,
			   const struct kf_event *e,
			   const struct kf_stats_identity *id)
{
	struct kf_cell *row = kf_table_row(t);

	tell_time(&row[TIME], e, id, cli->format != KF_FORMAT_TABLE);
	row[TID].count = (uint64_t)e->tid;
	row[TID].none = !e->tid;
	kf_cell_text(&row[THREAD], e->thread);
	row[THREAD].none = !e->thread[0];
	tell_kind(row, e);
	row[MONOTONIC].count = e->time_ns;
}

static void events_fill(struct kf_table *t, const struct kf_cli *cli,
			const struct kf_snapshot *s, uint64_t from, uint64_t to)
{
	kf_table_init(t, events_columns, KF_ARRAY_SIZE(events_columns));
	for (uint32_t i = 0; i < s->nr_events; i++) {
		const struct kf_event *e = &s->events[i];

		if (e->time_ns > from && e->time_ns <= to && is_wanted(e))
			events_add_row(t, cli, e, &s->id);
	}
}

void kf_events_last(struct kf_table *t, const struct kf_cli *cli,
		    const struct kf_snapshot *s, uint32_t most)
{
	struct kf_snapshot last = *s;
	uint32_t nr = KF_MIN(s->nr_events, most);

	last.events += s->nr_events - nr;
	last.nr_events = nr;
	events_fill(t, cli, &last, 0, UINT64_MAX);
}

/* Prints the events after @from up to @to; returns their number. */
static size_t events_print(const struct kf_cli *cli,
			   const struct kf_snapshot *s, uint64_t from,
			   uint64_t to)
{
	struct kf_table t;
	size_t nr;

	events_fill(&t, cli, s, from, to);
	nr = t.nr_rows;
	if (nr || !events_follow)
		kf_table_print(&t, cli);
	kf_table_release(&t);
	return nr;
}

static uint64_t events_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void wait_a_little(void)
{
	struct timespec ts = {.tv_nsec = LOOK_NS};

	nanosleep(&ts, NULL);
}

/* Ends with the process, at a signal, or when stdout is closed. */
static int events_watch(struct kf_cli *cli, struct kf_one *one)
{
	char pid[16], *path;
	int32_t process = one->file->pid;
	int status = KF_EXIT_OK;
	uint64_t from = 0;
	bool lives = true;

	path = kf_format("%s/%s", one->file->dir, one->file->name);
	snprintf(pid, sizeof(pid), "/proc/%d", process);
	while (lives && !status) {
		uint64_t to = events_now() - LATE_NS;

		kf_one_release(one);
		lives = access(pid, F_OK) == 0;
		status = kf_one_find(cli, path, one);
		if (status)
			break;
		if (events_print(cli, &one->file->snap, from,
				 lives ? to : UINT64_MAX))
			cli->no_header = true;
		from = to;
		if (fflush(stdout) || ferror(stdout)) {
			kf_error("stdout: %s", strerror(errno));
			status = KF_EXIT_FAILED;
		}
		if (lives && !status)
			wait_a_little();
	}
	free(path);
	return status;
}

static int events_refuse(const char *why)
{
	kf_error("events: %s", why);
	return KF_EXIT_USAGE;
}

static int events_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_one one;
	int status;

	if (argc > 1)
		return events_refuse("only one file can be given");
	if (argc && kf_select_any(&cli->select))
		return events_refuse("give a file or select a process, not "
				     "both");
	if (argc && events_follow)
		return events_refuse("--follow needs a running process, not a "
				     "file");
	if (events_follow && cli->format == KF_FORMAT_JSON)
		return events_refuse(
			"--follow cannot print JSON, which would stay incomplete: use --format=csv");
	cli->tables = KF_TABLE_EVENTS;
	status = kf_one_find(cli, argc ? argv[0] : NULL, &one);
	if (status)
		return status;
	if (events_follow && one.file->life == KF_LIFE_ALIVE)
		status = events_watch(cli, &one);
	else if (!events_print(cli, &one.file->snap, 0, UINT64_MAX))
		kf_note(cli, "events: no events");
	kf_one_release(&one);
	return status;
}

static int take_kinds(const char *arg)
{
	char *copy = kf_format("%s", arg), *at = copy, *name;
	int status = 0;

	by_kind = true;
	while (!status && (name = strsep(&at, ",")) != NULL) {
		unsigned int k = 1;

		while (k < KF_NR_BOX_KINDS && strcmp(event_kinds[k].name, name))
			k++;
		if (k < KF_NR_BOX_KINDS) {
			events_wanted[k] = true;
			continue;
		}
		kf_error("events: --kind: '%s' is not one of %s", name,
#define KF_BOX(id, number, probe, address, bytes, clock, shows, help) #id " "
#include "stats/box.def"
#undef KF_BOX
		);
		status = KF_EXIT_USAGE;
	}
	free(copy);
	return status;
}

static int events_option(struct kf_cli *cli, int key, const char *arg)
{
	switch (key) {
	case 'k':
		return take_kinds(arg);
	case 't':
		events_thread = arg;
		return 0;
	default:
		events_follow = true;
		return 0;
	}
}

static const struct kf_option events_options[] = {
	{'k', "kind", "KIND,...", "show only these kinds of events"},
	{'t', "thread", "TID|GLOB",
	 "show only threads with this id or a matching name"},
	{'f', "follow", NULL, "print new events until the process ends"},
	{0},
};

const struct kf_command kf_command_events = {
	.name = "events",
	.args = "[PID|FILE]",
	.help = "Show the latest slow-path events of each thread",
	.about =
		"FILE is a stats file. Without FILE the options below select a process; -a\n"
		"includes processes that were killed. A stats file keeps the latest\n"
		"KONFISCATOR_EVENTS events of each thread.",
	.examples =
		"  konfiscator events 4711                 the latest events of a process\n"
		"  konfiscator events -a 4711              the same for a process that was killed",
	.options = events_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.selects = true,
	.selects_ended = true,
	.pages = true,
	.option = events_option,
	.run = events_run,
};
