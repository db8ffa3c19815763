/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other views of a profile: tree, timeline and summary.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <stdlib.h>

#define TREE_SHARE 0.005 /* smaller shares are not shown */
#define TREE_ROWS 60
#define TIMELINE_ROWS 30

enum { TREE_VALUE, TREE_ERROR, TREE_SHARE_COLUMN, TREE_NAME, NR_TREE };

static struct kf_column tree_columns[NR_TREE] = {
	[TREE_VALUE] = {"VALUE", "value", KF_CELL_BYTES},
	[TREE_ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[TREE_SHARE_COLUMN] = {"SHARE", "share_percent", KF_CELL_PERCENT},
	[TREE_NAME] = {"CALLS", "calls", KF_CELL_TEXT, true},
};

static void add_nodes(struct kf_table *t, const struct kf_node *node,
		      double total, int depth)
{
	struct kf_cell *row = kf_table_row(t);
	char *name = kf_format("%*s%s%s", 2 * depth, "", node->label,
			       node->recursive ? KF_RECURSIVE : "");

	row[TREE_VALUE].count = (uint64_t)node->value.value;
	row[TREE_ERROR].count = (uint64_t)kf_estimate_error(node->value);
	if (total > 0)
		row[TREE_SHARE_COLUMN].real = 100 * node->value.value / total;
	else
		row[TREE_SHARE_COLUMN].none = true;
	kf_cell_text(&row[TREE_NAME], name);
	free(name);
	for (size_t i = 0; i < node->nr; i++) {
		if (node->nodes[i].value.value >= total * TREE_SHARE)
			add_nodes(t, &node->nodes[i], total, depth + 1);
	}
}

static int show_tree(struct kf_report *r, struct kf_prof *prof)
{
	struct kf_node *root = kf_tree_make(prof);
	enum kf_cell_kind kind = kf_metric_is_blocks(prof->pick.metric)
					 ? KF_CELL_COUNT
					 : KF_CELL_BYTES;
	struct kf_table t;

	if (prof->pick.metric == KF_METRIC_PEAKS)
		tree_columns[TREE_VALUE].head = "OWN-PEAKS";
	tree_columns[TREE_VALUE].kind = kind;
	tree_columns[TREE_ERROR].kind = kind;
	kf_table_init(&t, tree_columns, NR_TREE);
	add_nodes(&t, root, root->value.value, 0);
	kf_tree_free(root);
	return kf_report_table(r, &t, -1, TREE_ROWS);
}

enum { AT, ESTIMATE, ESTIMATE_ERROR, LIVE, HELD, RESIDENT, BLOCKS, NR_TIME };

static struct kf_column time_columns[NR_TIME] = {
	[AT] = {"TIME", "time_seconds", KF_CELL_SECONDS},
	[ESTIMATE] = {"SAMPLED", "value", KF_CELL_BYTES},
	[ESTIMATE_ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[RESIDENT] = {"RSS", "resident_bytes", KF_CELL_BYTES},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
};

/* The sum over the stacks of a process at a time that goes on. */
struct cursor {
	size_t next; /* snapshot */
	struct kf_profile_count *counts;
	struct kf_estimate sum;
};

static void cursor_take(const struct kf_prof *prof,
			const struct kf_prof_process *p, struct cursor *at,
			const struct kf_profile_snapshot *s)
{
	const struct kf_profile *of = p->profile;
	const struct kf_profile_count *c = kf_profile_counts(s);

	for (uint64_t k = 0; k < s->nr; k++) {
		ptrdiff_t n = kf_profile_stack_of(of, c[k].entry);

		if (n >= 0 && !kf_prof_is_shared(prof, p, of->stacks[n]))
			at->counts[n] = c[k];
	}
	at->sum = (struct kf_estimate){0};
	for (size_t i = 0; i < of->nr_stacks; i++) {
		struct kf_estimate e =
			kf_metric_of(&at->counts[i], prof->pick.metric);

		kf_metric_add(&at->sum, &e);
	}
}

/*
 * All stacks count, even with --filter, as LIVE and HELD are of whole
 * processes.
 */
static struct kf_estimate total_at(const struct kf_prof *prof,
				   struct cursor *cursors, uint64_t time_ns)
{
	struct kf_estimate sum = {0};

	for (size_t i = 0; i < prof->nr_processes; i++) {
		const struct kf_prof_process *p = &prof->processes[i];
		const struct kf_profile *of = p->profile;
		struct cursor *at = &cursors[i];

		if (!p->chosen)
			continue;
		while (at->next < of->nr_snapshots &&
		       of->snapshots[at->next]->time_ns <= time_ns)
			cursor_take(prof, p, at, of->snapshots[at->next++]);
		if (at->next &&
		    ((prof->pick.metric != KF_METRIC_LIVE &&
		      prof->pick.metric != KF_METRIC_PEAK &&
		      prof->pick.metric != KF_METRIC_BLOCKS) ||
		     !kf_prof_is_gone(prof, p, of->snapshots[at->next - 1],
				      time_ns)))
			kf_metric_add(&sum, &at->sum);
	}
	return sum;
}

static void time_fill(struct kf_cell *row, const struct kf_profile_snapshot *s,
		      struct kf_estimate sum)
{
	row[AT].real = (double)s->time_ns / 1e9;
	row[ESTIMATE].count = (uint64_t)sum.value;
	row[ESTIMATE_ERROR].count = (uint64_t)kf_estimate_error(sum);
	row[LIVE].count = s->live;
	row[HELD].count = s->held;
	row[HELD].none = !s->held;
	row[RESIDENT].count = s->resident;
	row[RESIDENT].none = !s->resident;
	row[BLOCKS].count = s->live_blocks;
}

static int show_timeline(struct kf_report *r, struct kf_prof *prof)
{
	struct cursor *cursors = kf_alloc(prof->nr_processes, sizeof(*cursors));
	size_t step = 1;
	struct kf_table t;

	for (size_t i = 0; i < prof->nr_processes; i++)
		cursors[i].counts =
			kf_alloc(prof->processes[i].profile->nr_stacks,
				 sizeof(*cursors[i].counts));
	if (r->cli->format == KF_FORMAT_TABLE && !r->rows_given)
		step = KF_MAX(prof->nr_levels / TIMELINE_ROWS, (size_t)1);
	if (kf_metric_is_blocks(prof->pick.metric))
		time_columns[ESTIMATE].kind =
			time_columns[ESTIMATE_ERROR].kind = KF_CELL_COUNT;
	kf_table_init(&t, time_columns, NR_TIME);
	for (size_t i = 0; i < prof->nr_levels; i++) {
		const struct kf_profile_snapshot *s = &prof->levels[i];
		struct kf_estimate sum = total_at(prof, cursors, s->time_ns);

		if (i % step == 0 || i + 1 == prof->nr_levels)
			time_fill(kf_table_row(&t), s, sum);
	}
	for (size_t i = 0; i < prof->nr_processes; i++)
		free(cursors[i].counts);
	free(cursors);
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

enum {
	PROGRAM,
	PID,
	SECONDS,
	LOOKS,
	STACKS,
	ALL_SAMPLES,
	ESTIMATED,
	INTERVAL,
	SUM_LIVE,
	SUM_HELD,
	SUM_RESIDENT,
	ENDED,
	NR_SUM
};

static const struct kf_column sum_columns[NR_SUM] = {
	[PROGRAM] = {"PROGRAM", "program", KF_CELL_TEXT},
	[PID] = {"PID", "pid", KF_CELL_COUNT},
	[SECONDS] = {"SECONDS", "duration_seconds", KF_CELL_SECONDS},
	[LOOKS] = {"LOOKS", "looks", KF_CELL_COUNT, .spare = 2},
	[STACKS] = {"STACKS", "stacks", KF_CELL_COUNT, .spare = 1},
	[ALL_SAMPLES] = {"SAMPLES", "samples", KF_CELL_COUNT},
	[ESTIMATED] = {"SAMPLED", "estimated_bytes", KF_CELL_BYTES},
	[INTERVAL] = {"+-", "error_95", KF_CELL_BYTES},
	[SUM_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[SUM_HELD] = {"HELD", "held_bytes", KF_CELL_BYTES},
	[SUM_RESIDENT] = {"RSS", "resident_bytes", KF_CELL_BYTES},
	[ENDED] = {"ENDED", "ended", KF_CELL_TEXT},
};

static void sum_fill(struct kf_cell *row, const struct kf_prof *prof,
		     const struct kf_prof_process *p)
{
	const struct kf_profile *of = p->profile;
	struct kf_estimate live = {0};
	/*
	 * A recording that was stopped by --duration does not tell whether it
	 * ended.
	 */
	bool ended = of->nr_snapshots &&
		     !of->snapshots[of->nr_snapshots - 1]->resident;

	kf_cell_text(&row[PROGRAM], p->name);
	row[PID].count = (uint64_t)(of->pid ? of->pid : of->head.identity.pid);
	row[LOOKS].count = of->nr_snapshots;
	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];
		struct kf_estimate e = kf_metric_of(&site->now, KF_METRIC_LIVE);

		if (site->process != p)
			continue;
		row[STACKS].count++;
		row[ALL_SAMPLES].count += site->now.samples;
		kf_metric_add(&live, &e);
	}
	row[ESTIMATED].count = (uint64_t)live.value;
	row[INTERVAL].count = (uint64_t)kf_estimate_error(live);
	if (p->snapshot) {
		row[SECONDS].real = (double)p->snapshot->time_ns / 1e9;
		row[SUM_LIVE].count = p->snapshot->live;
		row[SUM_HELD].count = p->snapshot->held;
		row[SUM_HELD].none = !p->snapshot->held;
		row[SUM_RESIDENT].count = p->snapshot->resident;
		row[SUM_RESIDENT].none = !p->snapshot->resident;
	}
	kf_cell_text(&row[ENDED], ended ? "yes" : "no");
}

/* Sites are sorted by value: each process passes over all of them. */
static int show_summary(struct kf_report *r, struct kf_prof *prof)
{
	struct kf_table t;

	kf_table_init(&t, sum_columns, NR_SUM);
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen)
			sum_fill(kf_table_row(&t), prof, &prof->processes[i]);
	}
	return kf_report_table(r, &t, -1, SIZE_MAX);
}

const struct kf_prof_view kf_prof_view_tree = {"tree", show_tree, true};
const struct kf_prof_view kf_prof_view_timeline = {"timeline", show_timeline};
const struct kf_prof_view kf_prof_view_summary = {"summary", show_summary};
