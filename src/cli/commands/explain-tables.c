/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables behind a verdict: the parts of the memory, the size classes and
 * the sampled stacks.
 *
 * Samples do not tell which stack's blocks are on which half-empty page, so a
 * stack's share is an estimate: its mean block size selects a class, and the
 * free blocks of a class are divided among its stacks by their live bytes.
 */
#include "config.h"

#include "cli/commands/explain.h"

#include "cli/process.h"
#include "cli/profile/profile.h"
#include "cli/sizes.h"

#include "reader/smaps.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLERS 6

enum { PART, BYTES, SHARE, NR_PARTS };

static const struct kf_column part_columns[NR_PARTS] = {
	[PART] = {"PART", "part", KF_CELL_TEXT},
	[BYTES] = {"BYTES", "bytes", KF_CELL_SIGNED},
	[SHARE] = {"SHARE", "share_percent", KF_CELL_PERCENT},
};

static void add_part(struct kf_table *t, const char *name, bool known,
		     uint64_t bytes, uint64_t whole)
{
	struct kf_cell *row = kf_table_row(t);

	kf_cell_text(&row[PART], name);
	row[BYTES].count = bytes;
	row[BYTES].none = !known;
	row[SHARE].none = !known || !whole;
	if (whole)
		row[SHARE].real = 100 * (double)(int64_t)bytes / (double)whole;
}

void kf_explain(const struct kf_watch *w, struct kf_explained *e)
{
	const struct kf_case look = {
		.snap = &w->last->snap,
		.procfs = "/proc",
		.pid = w->last->pid,
		.ended = w->last->life == KF_LIFE_DEAD ||
			 w->last->life == KF_LIFE_EXECED,
		.mappings = true,
		.seconds = w->seconds,
		.used = w->used,
		.nr_used = w->nr_used,
		.before = kf_snapshot_value(&w->first->snap, "peak_held"),
	};

	kf_explain_case(&look, e);
	if (e->why)
		return;
	kf_error("out of memory");
	exit(KF_EXIT_FAILED);
}

/* The memory outside the heap, and what makes the parts add up. */
static void add_mappings(struct kf_table *t, const struct kf_facts *f,
			 uint64_t whole)
{
	if (!f->mappings_known) {
		add_part(t, "not the heap", f->resident_known, f->outside,
			 whole);
		return;
	}
	if (f->absent)
		add_part(t, "less: heap addresses without pages", true,
			 -f->absent, whole);
	add_part(t, "huge pages: free memory in them", true, f->huge, whole);
	add_part(t, "files: mapped code and data", true, f->files, whole);
	add_part(t, "stacks of threads", true, f->stacks, whole);
	add_part(t, "shared memory", true, f->shared, whole);
	add_part(t, "others: mapped, not by the heap", true, f->others, whole);
}

void kf_explain_parts(struct kf_table *t, const struct kf_facts *f)
{
	bool known = f->resident_known;
	uint64_t whole = known ? f->resident : f->held - f->unused;

	kf_table_init(t, part_columns, NR_PARTS);
	add_part(t, "live: the program asked for it", true, f->live, whole);
	add_part(t, "rounding: more than it asked for", true, f->rounding,
		 whole);
	add_part(t, "half-empty: free blocks in slabs", true, f->half_empty,
		 whole);
	add_part(t, "  of it in bins of threads", f->bins_known, f->bins,
		 whole);
	add_part(t, "dirty: free pages not given back yet", true, f->dirty,
		 whole);
	add_part(t, "metadata: the allocator's own", true, f->metadata, whole);
	add_mappings(t, f, whole);
	add_part(t, "resident: the process", known, f->resident, whole);
	add_part(t, "unused: free addresses without pages", true, f->unused, 0);
	add_part(t, "held: the heap's addresses in use", true, f->held, 0);
	add_part(t, "peak of held memory", f->peak_known, f->peak_held, 0);
	if (f->limit) {
		add_part(t, "limit of held memory", true, f->limit, 0);
		add_part(t, "headroom to this limit", true, f->headroom, 0);
	}
	if (!f->mappings_known)
		return;
	add_part(t, "page tables: the kernel's", true, f->tables, 0);
	add_part(t, "sockets: the kernel's buffers", f->sockets_known,
		 f->sockets, 0);
}

const char *kf_explain_runtime(const struct kf_facts *f)
{
	if (f->runtimes & KF_RUNTIME_JAVA)
		return "java";
	if (f->runtimes & KF_RUNTIME_NODE)
		return "node";
	return f->runtimes & KF_RUNTIME_PYTHON ? "python" : "";
}

void kf_explain_say_runtime(const struct kf_watch *w, const struct kf_facts *f)
{
	uint64_t others = f->mappings_known ? f->others : f->outside;
	int pid = kf_process_id(w->last);

	if (!f->resident_known ||
	    others <= f->resident / KF_EXPLAIN_OTHERS_PART)
		return;
	if (f->runtimes & KF_RUNTIME_JAVA)
		printf("java: the heap of Java's objects is mapped by the JVM: "
		       "jcmd %d GC.heap_info prints its size; VM.native_memory "
		       "has the rest, if java runs with "
		       "-XX:NativeMemoryTracking=summary\n",
		       pid);
	else if (f->runtimes & KF_RUNTIME_NODE)
		puts("node: the heap of JavaScript is mapped by V8: "
		     "process.memoryUsage() has its size; node --heapsnapshot-signal=SIGUSR2 writes a snapshot of it on that signal");
	else if (f->runtimes & KF_RUNTIME_PYTHON)
		puts("python: small objects are in arenas that pymalloc maps, "
		     "unless PYTHONMALLOC=malloc is set: konfiscator run --python sets it, which moves these objects into the heap");
}

enum { SIZE, LIVE, GROWN, EMPTY, FILL, SLABS, BLOCKS, CARVED, NR_SIZES };

static struct kf_column explain_size_columns[NR_SIZES] = {
	[SIZE] = {"SIZE", "size_bytes", KF_CELL_BYTES},
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[GROWN] = {"GROWN", "grown_bytes", KF_CELL_SIGNED},
	[EMPTY] = {"HALF-EMPTY", "half_empty_bytes", KF_CELL_BYTES},
	[FILL] = {"FILLED", "filled_percent", KF_CELL_PERCENT},
	[SLABS] = {"SLABS", "slabs", KF_CELL_COUNT},
	[BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[CARVED] = {NULL, "carved_blocks", KF_CELL_COUNT},
};

static void explain_add_size(struct kf_table *t, const struct kf_watch *w,
			     unsigned int class)
{
	const struct kf_snapshot *s = &w->last->snap;
	const struct kf_class_count *c = &s->classes[class];
	uint64_t blocks = kf_class_blocks(c), live = kf_size_live(s, class);
	bool slabs = s->knows_slabs && c->bytes;
	struct kf_cell *row;

	if (!blocks && !c->carved)
		return;
	row = kf_table_row(t);
	row[SIZE].count = c->bytes;
	row[SIZE].none = !c->bytes;
	if (row[SIZE].none)
		kf_cell_text(&row[SIZE], "large");
	row[LIVE].count = live;
	row[GROWN].count = live - kf_size_live(&w->first->snap, class);
	row[GROWN].none = w->seconds <= 0;
	row[EMPTY].count = kf_size_empty(c);
	row[EMPTY].none = row[SLABS].none = row[CARVED].none = !slabs;
	row[FILL].none = !slabs || !c->carved;
	if (c->carved)
		row[FILL].real = 100 * (double)KF_MIN(blocks, c->carved) /
				 (double)c->carved;
	row[SLABS].count = c->slabs;
	row[BLOCKS].count = blocks;
	row[CARVED].count = c->carved;
}

static bool is_half_empty(enum kf_verdict verdict)
{
	return verdict == KF_VERDICT_FRAGMENTATION ||
	       verdict == KF_VERDICT_WAITING;
}

void kf_explain_sizes(struct kf_table *t, const struct kf_watch *w,
		      enum kf_verdict verdict)
{
	bool grown = verdict == KF_VERDICT_LEAK && w->seconds > 0;

	if (w->seconds <= 0)
		explain_size_columns[GROWN].head = NULL;
	kf_table_init(t, explain_size_columns, NR_SIZES);
	for (unsigned int i = 0; i < w->last->snap.nr_classes; i++)
		explain_add_size(t, w, i);
	kf_table_sort(t, is_half_empty(verdict) ? EMPTY : grown ? GROWN : LIVE);
}

enum {
	STACK_LIVE,
	STACK_ERROR,
	STACK_GROWN,
	STACK_GROWN_ERROR,
	STACK_EMPTY,
	STACK_MEAN,
	STACK_KIND,
	STACK_RANK,
	STACK_TAG,
	STACK,
	NR_STACKS
};

static struct kf_column stack_columns[NR_STACKS] = {
	[STACK_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[STACK_ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[STACK_GROWN] = {"GROWN", "grown_bytes", KF_CELL_SIGNED},
	[STACK_GROWN_ERROR] = {"+-", "grown_error_95", KF_CELL_BYTES,
			       .spare = 3},
	[STACK_EMPTY] = {"HALF-EMPTY", "half_empty_bytes", KF_CELL_BYTES,
			 .spare = 2},
	[STACK_MEAN] = {"MEAN", "mean_block_bytes", KF_CELL_BYTES, .spare = 1},
	[STACK_KIND] = {"KIND", "kind", KF_CELL_TEXT},
	[STACK_RANK] = {NULL, NULL, KF_CELL_SIGNED},
	[STACK_TAG] = {"TAG", "tag", KF_CELL_TEXT},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

static double mean_of(const struct kf_profile_count *c)
{
	double bytes = (double)(c->allocated - c->freed);
	double blocks = (double)(c->allocated_blocks - c->freed_blocks) /
			KF_STATS_BLOCK_PARTS;

	return blocks > 0 && bytes > 0 ? bytes / blocks : 0;
}

/*
 * The smallest class with room for the block; 0, the large blocks, if there is
 * none.
 */
static unsigned int explain_class(const struct kf_snapshot *s, double mean)
{
	for (unsigned int i = 0; i < s->nr_classes; i++) {
		if ((double)s->classes[i].bytes >= mean - 0.5)
			return i;
	}
	return 0;
}

static double *live_by_class(const struct kf_prof *prof,
			     const struct kf_snapshot *s)
{
	double *live = kf_alloc(s->nr_classes + 1u, sizeof(*live));

	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];

		live[explain_class(s, mean_of(&site->now))] +=
			site->value.value;
	}
	return live;
}

/* The stack's entry; NULL: it has none yet. */
static const struct kf_stats_stack *stack_in(const struct kf_snapshot *s,
					     const struct kf_site *site)
{
	uint32_t entry = site->stack->entry;

	return entry < s->nr_stacks && s->stacks[entry].hash ? &s->stacks[entry]
							     : NULL;
}

static double variance_of(const struct kf_stats_stack *st)
{
	return st ? (double)(st->variance + st->freed_variance) *
			       KF_STATS_VARIANCE_UNIT
		  : 0;
}

/*
 * How much a stack has grown between the two looks. Its error is that of all
 * samples that were allocated or freed in between: much for a stack that only
 * replaces its blocks.
 */
static void explain_set_grown(struct kf_cell *row, const struct kf_watch *w,
			      const struct kf_site *site)
{
	const struct kf_stats_stack *first = stack_in(&w->first->snap, site);
	const struct kf_stats_stack *last = stack_in(&w->last->snap, site);
	double grown = site->value.value, error;

	if (first)
		grown -= kf_estimate_stack(first, KF_ESTIMATE_LIVE).value;
	error = kf_estimate_error((struct kf_estimate){
		grown, KF_MAX(variance_of(last) - variance_of(first), 0.0)});
	row[STACK_GROWN].count = (uint64_t)(int64_t)grown;
	row[STACK_GROWN_ERROR].count = (uint64_t)error;
	row[STACK_GROWN].none = w->seconds <= 0;
	row[STACK_GROWN_ERROR].none = w->seconds <= 0;
}

/*
 * The order of stacks of a leak: first those whose old blocks stay while more
 * come, which samples of the whole time tell; then by what grew for sure in the
 * time of the two looks, from which a stack that replaces its blocks differs by
 * chance alone.
 */
static int64_t explain_rank(const struct kf_site *site,
			    const struct kf_cell *row)
{
	static const int64_t first = (int64_t)1 << 50;

	switch (kf_ages_kind(site->ages)) {
	case KF_AGES_GROWS:
		return 2 * first + (int64_t)row[STACK_LIVE].count;
	case KF_AGES_CHURNS:
		return -2 * first + (int64_t)row[STACK_LIVE].count;
	default:
		return (int64_t)row[STACK_GROWN].count -
		       (int64_t)row[STACK_GROWN_ERROR].count;
	}
}

static void explain_add_stack(struct kf_table *t, const struct kf_prof *prof,
			      const struct kf_site *site,
			      const struct kf_watch *w, const double *by_class)
{
	const struct kf_snapshot *s = &w->last->snap;
	double live = site->value.value, mean = mean_of(&site->now);
	unsigned int class = explain_class(s, mean);
	char *stack = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
				      : kf_site_group(prof, site);
	struct kf_cell *row = kf_table_row(t);

	row[STACK_LIVE].count = (uint64_t)live;
	row[STACK_ERROR].count = (uint64_t)kf_estimate_error(site->value);
	explain_set_grown(row, w, site);
	row[STACK_RANK].count = (uint64_t)explain_rank(site, row);
	kf_cell_text(&row[STACK_KIND],
		     kf_ages_kind_name(kf_ages_kind(site->ages)));
	row[STACK_EMPTY].none = !s->knows_slabs || !class;
	if (class)
		row[STACK_EMPTY].count =
			(uint64_t)((double)kf_size_empty(&s->classes[class]) *
				   live / by_class[class]);
	row[STACK_MEAN].count = (uint64_t)(mean + 0.5);
	kf_cell_text(&row[STACK_TAG], site->tag);
	kf_cell_text(&row[STACK], stack);
	free(stack);
}

/* The same calls from other lines, or with recursions of other depths. */
static void explain_join(struct kf_cell *to, const struct kf_cell *from)
{
	double a = (double)to[STACK_LIVE].count;
	double b = (double)from[STACK_LIVE].count;
	double blocks = 0;

	if (to[STACK_MEAN].count && from[STACK_MEAN].count)
		blocks = a / (double)to[STACK_MEAN].count +
			 b / (double)from[STACK_MEAN].count;
	if (blocks > 0)
		to[STACK_MEAN].count = (uint64_t)((a + b) / blocks + 0.5);
	to[STACK_LIVE].count += from[STACK_LIVE].count;
	kf_cell_add_error(&to[STACK_ERROR], &from[STACK_ERROR]);
	to[STACK_GROWN].count += from[STACK_GROWN].count;
	kf_cell_add_error(&to[STACK_GROWN_ERROR], &from[STACK_GROWN_ERROR]);
	if ((int64_t)from[STACK_RANK].count > (int64_t)to[STACK_RANK].count) {
		to[STACK_RANK].count = from[STACK_RANK].count;
		kf_cell_text(&to[STACK_KIND], from[STACK_KIND].text);
	}
	to[STACK_EMPTY].count += from[STACK_EMPTY].count;
	to[STACK_EMPTY].none &= from[STACK_EMPTY].none;
}

/* Whether even the largest row has an error as large as its value. */
static bool stacks_are_few(const struct kf_table *t)
{
	const struct kf_cell *most = NULL;

	for (size_t i = 0; i < t->nr_rows; i++) {
		const struct kf_cell *row = &t->cells[i * NR_STACKS];

		if (!most || row[STACK_LIVE].count > most[STACK_LIVE].count)
			most = row;
	}
	return most && most[STACK_ERROR].count >= most[STACK_LIVE].count;
}

int kf_explain_stacks(struct kf_table *t, const struct kf_cli *cli,
		      const struct kf_watch *w, enum kf_verdict verdict,
		      bool *few)
{
	char *path = kf_format("%s/%s", w->last->dir, w->last->name);
	struct kf_prof prof = {.cli = cli, .path = path, .pick = {.at = -1}};
	bool grown = verdict == KF_VERDICT_LEAK && w->seconds > 0;
	int status = kf_prof_open(&prof);
	double *by_class = live_by_class(&prof, &w->last->snap);

	if (w->seconds <= 0)
		stack_columns[STACK_GROWN].head =
			stack_columns[STACK_GROWN_ERROR].head = NULL;
	kf_table_init(t, stack_columns, NR_STACKS);
	for (size_t i = 0; !status && i < prof.nr_sites; i++) {
		if (prof.sites[i].value.value > 0)
			explain_add_stack(t, &prof, &prof.sites[i], w,
					  by_class);
	}
	kf_table_merge(t, (const int[]){STACK, STACK_TAG}, 2, explain_join);
	*few = stacks_are_few(t);
	kf_table_sort(t, is_half_empty(verdict) ? STACK_EMPTY
			 : grown		? STACK_RANK
						: STACK_LIVE);
	free(by_class);
	kf_prof_close(&prof);
	free(path);
	return status;
}
