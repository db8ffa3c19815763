/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reports of guarded blocks: see guards.h.
 */
#include "config.h"

#include "cli/profile/guards.h"

#include "cli/profile/profile.h"
#include "reader/calls.h"
#include "reader/reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any stack of a report, with inlined calls. */
#define CALLS_MOST 1024

struct guards {
	const struct kf_cli *cli;
	const struct kf_snapshot *s;
	struct kf_symbols *symbols;
};

static void guards_open(struct guards *g, const struct kf_cli *cli,
			const struct kf_file *f)
{
	struct kf_codes codes = {0};

	*g = (struct guards){.cli = cli, .s = &f->snap};
	if (kf_codes_read("/proc", f->pid, &f->snap, &codes))
		g->symbols = kf_symbols_open(
			&codes, &(struct kf_symbols_how){
					.procfs = "/proc",
					.pid = f->pid,
					.debug = true,
					.recorded_ns = f->snap.id.created_ns,
					.snapshot = &f->snap,
					.refused = kf_prof_refused,
				});
	if (!g->symbols) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
}

static size_t guards_frames(const struct guards *g, uint32_t entry,
			    const struct kf_frame *frames[CALLS_MOST])
{
	static uint64_t address[KF_STATS_STACK_MAX];
	const struct kf_stats_stack *stack = &g->s->stacks[entry];
	uint32_t nr = kf_snapshot_frames(g->s, stack, address);
	size_t all = 0;

	for (uint32_t i = 0; i < nr; i++) {
		size_t here;
		const struct kf_frame *f =
			kf_symbols_frames(g->symbols, address[i],
					  kf_stats_generation(stack), &here);

		for (size_t k = 0; f && k < here && all < CALLS_MOST; k++)
			frames[all++] = &f[k];
	}
	return all;
}

/* Printable, in memory that the caller frees; NULL: it is not known. */
static char *guards_stack(const struct guards *g, uint32_t entry)
{
	static const struct kf_frame *frames[CALLS_MOST];
	static bool recursive[CALLS_MOST];
	char *stack, *safe;
	size_t room;
	unsigned int how = (g->cli->raw ? KF_CALLS_RAW : 0) |
			   (g->cli->no_fold ? KF_CALLS_ALL : 0);
	struct kf_site site = {.frames = frames, .recursive = recursive};

	if (!entry)
		return NULL;
	site.nr_frames = kf_calls_simplify(
		frames, recursive, guards_frames(g, entry, frames), how);
	stack = kf_site_callers(&site, 0, SIZE_MAX);
	room = 4 * strlen(stack) + 1;
	safe = kf_alloc(room, 1);
	kf_escape(safe, room, stack);
	free(stack);
	return safe;
}

static void guards_print_one(const struct guards *g,
			     const struct kf_stats_report *r)
{
	char line[KF_REPORT_LINE];

	kf_report_line(r, line);
	printf("guard report: %s\n", line);
	if (r->times > 1)
		printf("  %" PRIu64 " times with the same stacks\n", r->times);
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(r->by); i++) {
		const char *what = kf_report_by(r, i);
		char *stack;

		if (!what)
			continue;
		stack = guards_stack(g, r->by[i].stack);
		printf("  %s by thread %" PRId32 ": %s\n", what, r->by[i].tid,
		       stack ? stack : "its stack is not known");
		free(stack);
	}
}

void kf_guards_print(const struct kf_cli *cli, const struct kf_file *f)
{
	struct guards g;

	if (!f->snap.nr_reports)
		return;
	guards_open(&g, cli, f);
	for (uint32_t i = 0; i < f->snap.nr_reports; i++)
		guards_print_one(&g, &f->snap.reports[i]);
	kf_symbols_close(g.symbols);
}

static json_t *guards_hex(uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return json_string(text);
}

static json_t *guards_access(const struct kf_stats_report *r)
{
	if (r->how & KF_REPORT_WRITE)
		return json_string("write");
	return r->how & KF_REPORT_READ ? json_string("read") : json_null();
}

static json_t *guards_part(const struct guards *g, uint32_t entry, int32_t tid)
{
	json_t *part = json_object();
	char *stack = guards_stack(g, entry);

	json_object_set_new(part, "tid", json_integer(tid));
	json_object_set_new(part, "stack",
			    stack ? json_string(stack) : json_null());
	free(stack);
	return part;
}

static json_t *guards_json_one(const struct guards *g,
			       const struct kf_stats_report *r)
{
	static const char *const keys[] = {"done", "allocated", "freed"};
	json_t *o = json_object();

	json_object_set_new(o, "monotonic_ns",
			    json_integer((json_int_t)r->time));
	json_object_set_new(o, "times", json_integer((json_int_t)r->times));
	json_object_set_new(o, "kind", json_string(kf_report_words(r->kind)));
	json_object_set_new(o, "access", guards_access(r));
	json_object_set_new(o, "late", json_boolean(r->how & KF_REPORT_LATE));
	json_object_set_new(o, "address", guards_hex(r->address));
	json_object_set_new(o, "block",
			    r->block ? guards_hex(r->block) : json_null());
	json_object_set_new(o, "block_bytes",
			    json_integer((json_int_t)r->bytes));
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(r->by); i++)
		json_object_set_new(
			o, keys[i],
			kf_report_by(r, i)
				? guards_part(g, r->by[i].stack, r->by[i].tid)
				: json_null());
	return o;
}

json_t *kf_guards_json(const struct kf_cli *cli, const struct kf_file *f)
{
	json_t *all = json_array();
	struct guards g;

	if (!f->snap.nr_reports)
		return all;
	guards_open(&g, cli, f);
	for (uint32_t i = 0; i < f->snap.nr_reports; i++)
		json_array_append_new(all,
				      guards_json_one(&g, &f->snap.reports[i]));
	kf_symbols_close(g.symbols);
	return all;
}
