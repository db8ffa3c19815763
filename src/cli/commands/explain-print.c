/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A verdict as text: why, what is not known and how to get it, and the tables
 * behind it.
 */
#include "config.h"

#include "cli/commands/explain.h"

#include "cli/group.h"
#include "cli/one.h"
#include "cli/process.h"
#include "reader/estimate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define USUAL_ROWS 5

void kf_explain_print_table(const struct kf_cli *cli, struct kf_table *t,
			    const char *what)
{
	size_t nr = t->nr_rows;

	if (!nr)
		return;
	t->nr_rows = KF_MIN(nr, (size_t)USUAL_ROWS);
	putchar('\n');
	kf_table_print(t, cli);
	if (t->nr_rows < nr)
		printf("(%zu of %zu %s; --format=json has all)\n", t->nr_rows,
		       nr, what);
	t->nr_rows = nr;
}

void kf_explain_add_line(json_t *lines, char *line)
{
	json_array_append_new(lines, json_string(line));
	free(line);
}

static void unknown_memory(json_t *lines, const struct kf_watch *w,
			   const struct kf_facts *f)
{
	if (!f->resident_known)
		kf_explain_add_line(
			lines,
			kf_format("the resident memory of the process, which "
				  "%s",
				  w->last->life == KF_LIFE_UNKNOWN
					  ? "cannot be seen from here"
					  : "has ended"));
	else if (!f->mappings_known)
		kf_explain_add_line(
			lines,
			kf_format(
				"what the memory outside the heap consists of: the mappings of the process cannot be read"));
	else if (f->absent > KF_EXPLAIN_GROWTH_MIN)
		kf_explain_add_line(
			lines,
			kf_format(
				"how much memory is outside the heap: it may be more than shown, by as much as the heap has addresses without pages"));
}

static void unknown_life(json_t *lines, const struct kf_watch *w,
			 enum kf_verdict verdict)
{
	if (w->last->life != KF_LIFE_DEAD)
		return;
	if (verdict == KF_VERDICT_GROWTH || verdict == KF_VERDICT_LEAK)
		kf_explain_add_line(
			lines,
			kf_format("how long the process lived after its last "
				  "call that read the clock"));
	if (verdict == KF_VERDICT_IN_USE || verdict == KF_VERDICT_NEVER_FREED)
		kf_explain_add_line(
			lines,
			kf_format("whether the process leaked: run explain "
				  "while it runs, or record a profile of it"));
}

static void unknown_counts(json_t *lines, const struct kf_watch *w,
			   const struct kf_facts *f)
{
	if (!w->last->snap.knows_slabs)
		kf_explain_add_line(
			lines,
			kf_format("the slabs of each size: an older library "
				  "wrote the file"));
	if (!f->bins_known)
		kf_explain_add_line(
			lines,
			kf_format("the free blocks in bins of threads: an "
				  "older library wrote the file"));
	if (f->uncounted)
		kf_explain_add_line(
			lines,
			kf_format("the allocations of %" PRIu64 " threads: the "
				  "stats file had no room for their counters",
				  f->uncounted));
}

/* Samples are taken by default, but may be off, and few of a small program. */
static char *unknown_stacks(const struct kf_file *f)
{
	bool lives = f->life == KF_LIFE_ALIVE;
	bool on = kf_snapshot_value(&f->snap, "sample_mean");

	if (lives && on)
		return kf_format(
			"the stacks: no block was sampled yet; konfiscator ctl %d sample=64K takes more samples",
			kf_process_id(f));
	if (lives)
		return kf_format(
			"the stacks: no samples are taken; konfiscator ctl %d sample=512K starts sampling",
			kf_process_id(f));
	if (on)
		return kf_format(
			"the stacks: no block was sampled; konfiscator run --sample=64K takes more samples");
	return kf_format(
		"the stacks: no samples were taken; konfiscator run --sample=512K takes samples");
}

json_t *kf_explain_unknown(const struct kf_watch *w,
			   const struct kf_explained *e)
{
	json_t *lines = json_array();

	unknown_memory(lines, w, &e->facts);
	unknown_life(lines, w, e->verdict);
	unknown_counts(lines, w, &e->facts);
	if (!kf_snapshot_value(&w->last->snap, "samples"))
		kf_explain_add_line(lines, unknown_stacks(w->last));
	return lines;
}

void kf_explain_print_unknown(json_t *lines)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		printf("not known: %s\n", json_string_value(line));
	json_decref(lines);
}

/* What threads keep, where it matters, and what gives it back. */
static void print_bins(const struct kf_facts *f)
{
	char bytes[32];

	if (f->bins < KF_EXPLAIN_WASTE_MIN || f->bins < f->held / 20)
		return;
	printf("bins: threads keep %s of free blocks, and the slabs of these "
	       "blocks, until they end, free most of their memory or call "
	       "malloc_trim(); KONFISCATOR_ARENA_MAX=N limits the number of "
	       "such threads\n",
	       kf_human_bytes(bytes, sizeof(bytes), f->bins));
}

/* Only counted where KONFISCATOR_LIMIT is set. */
static void print_pressures(const struct kf_facts *f)
{
	if (!f->pressures)
		return;
	printf("pressure: memory was short %" PRIu64 " time%s, in the cgroup "
	       "or on the system, and the allocator gave its free memory "
	       "back\n",
	       f->pressures, f->pressures == 1 ? "" : "s");
}

static void print_lost(const struct kf_watch *w)
{
	char text[KF_STACKS_LOST_TEXT];

	if (kf_stacks_lost_say(&w->last->snap, text, sizeof(text)))
		printf("stacks: %s\n", text);
}

void kf_explain_print_verdict(const struct kf_watch *w,
			      const struct kf_explained *e)
{
	printf("%s\n%s\n", kf_verdict_name(e->verdict), e->why);
	kf_explain_print_unknown(kf_explain_unknown(w, e));
	print_bins(&e->facts);
	print_pressures(&e->facts);
	kf_explain_say_runtime(w, &e->facts);
	print_lost(w);
}

void kf_explain_print_parts(const struct kf_cli *cli,
			    const struct kf_explained *e)
{
	struct kf_table t;

	kf_explain_parts(&t, &e->facts);
	kf_table_print(&t, cli);
	kf_table_release(&t);
}

/* Whether there are too few samples for the stacks' values. */
static void print_few(const struct kf_watch *w)
{
	const struct kf_file *f = w->last;
	char text[KF_SAMPLE_HINT];
	char *command = f->life == KF_LIFE_ALIVE
				? kf_format("konfiscator ctl %d sample=",
					    kf_process_id(f))
				: kf_format("konfiscator run --sample=");

	printf("not known: how much each stack has: there are too few samples; %s\n",
	       kf_sample_hint(text, sizeof(text), command,
			      kf_snapshot_value(&f->snap, "sample_mean")));
	free(command);
}

int kf_explain_print_rows(const struct kf_cli *cli, const struct kf_watch *w,
			  enum kf_verdict verdict)
{
	struct kf_table t;
	int status;
	bool few;

	kf_explain_sizes(&t, w, verdict);
	kf_explain_print_table(cli, &t, "sizes");
	kf_table_release(&t);
	status = kf_explain_stacks(&t, cli, w, verdict, &few);
	if (few) {
		putchar('\n');
		print_few(w);
	}
	kf_explain_print_table(cli, &t, "stacks");
	kf_table_release(&t);
	return status;
}
