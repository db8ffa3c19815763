/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What explain --pinned adds: the tags and the sampled stacks whose blocks keep
 * half-empty slabs.
 */
#include "config.h"

#include "cli/commands/explain.h"

#include "cli/order.h"
#include "cli/process.h"
#include "cli/profile/profile.h"
#include "reader/pinned.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ORDER_S 3
#define CALLERS 6

int kf_explain_order(const struct kf_cli *cli, const struct kf_file *f,
		     const char *order, const char *what)
{
	struct kf_answer answer = {0};
	enum kf_order_result r;
	char why[KF_ORDER_REFUSAL] = "it was not asked";

	if (f->life != KF_LIFE_ALIVE)
		return 0;
	r = kf_order_give("/proc", f, order, ORDER_S, KF_ORDER_WITHDRAW,
			  &answer);
	if (r == KF_ORDER_DONE)
		return 0;
	if (r == KF_ORDER_WITHDRAWN) {
		kf_note(cli,
			"explain: process %d did not answer within %d s: it allocates nothing now, or only reuses blocks that it has just freed",
			kf_process_id(f), ORDER_S);
		return 0;
	}
	kf_order_refusal(r, &answer, why);
	kf_error("explain: process %d cannot %s: %s", kf_process_id(f), what,
		 why);
	return KF_EXIT_FAILED;
}

/* What blocks pin, as the process noted it. */
struct pinned {
	uint64_t noted_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t bytes;	   /* that all blocks pin */
	struct kf_table tags;
	struct kf_table stacks;
	struct kf_estimate unknown; /* bytes of blocks of which it is not known
				     */
};

enum { TAG_PINNED, TAG_LIVE, TAG_BLOCKS, TAG, NR_TAG_COLUMNS };

static const struct kf_column tag_columns[NR_TAG_COLUMNS] = {
	[TAG_PINNED] = {"PINNED", "pinned_bytes", KF_CELL_BYTES},
	[TAG_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[TAG_BLOCKS] = {"BLOCKS", "live_blocks", KF_CELL_COUNT},
	[TAG] = {"TAG", "tag", KF_CELL_TEXT},
};

static void pinned_add_tag(struct kf_table *t, const struct kf_profile *p,
			   const struct kf_snapshot *s, uint32_t entry)
{
	const struct kf_stats_tag *tag = &s->tags[entry];
	char path[KF_PROFILE_TAG_PATH];
	struct kf_cell *row;

	if (tag->state == KF_TAG_FREE || !tag->parent || !tag->allocated)
		return;
	kf_profile_tag_path(p, entry, path);
	row = kf_table_row(t);
	row[TAG_PINNED].count = (uint64_t)(kf_pinned_tag(tag) + 0.5);
	row[TAG_LIVE].count = kf_stats_tag_live(tag);
	row[TAG_BLOCKS].count = kf_stats_tag_blocks(tag);
	kf_cell_text(&row[TAG], path);
}

/* The same tag of other threads. */
static void pinned_join_tags(struct kf_cell *to, const struct kf_cell *from)
{
	for (int i = TAG_PINNED; i <= TAG_BLOCKS; i++)
		to[i].count += from[i].count;
}

static void pinned_tags(struct kf_table *t, const struct kf_prof *prof,
			const struct kf_snapshot *s)
{
	kf_table_init(t, tag_columns, NR_TAG_COLUMNS);
	for (uint32_t i = 1; i < s->nr_tags; i++)
		pinned_add_tag(t, &prof->profile, s, i);
	kf_table_merge(t, (const int[]){TAG}, 1, pinned_join_tags);
	kf_table_sort(t, TAG_PINNED);
}

enum {
	STACK_PINNED,
	STACK_ERROR,
	STACK_LIVE,
	STACK_BLOCKS,
	STACK,
	NR_STACK_COLUMNS
};

static const struct kf_column stack_columns[NR_STACK_COLUMNS] = {
	[STACK_PINNED] = {"PINNED", "pinned_bytes", KF_CELL_BYTES},
	[STACK_ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[STACK_LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[STACK_BLOCKS] = {"BLOCKS", "pinning_blocks", KF_CELL_COUNT},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

static void pinned_add_stack(struct kf_table *t, const struct kf_prof *prof,
			     const struct kf_site *site,
			     const struct kf_pinned *all)
{
	const struct kf_pinned *p = &all[site->stack->entry];
	char *stack = site->nr_frames ? kf_site_callers(site, 0, CALLERS)
				      : kf_site_group(prof, site);
	struct kf_cell *row = kf_table_row(t);

	row[STACK_PINNED].count = (uint64_t)(p->bytes.value + 0.5);
	row[STACK_ERROR].count = (uint64_t)kf_estimate_error(p->bytes);
	row[STACK_LIVE].count = (uint64_t)site->value.value;
	row[STACK_BLOCKS].count = (uint64_t)(p->blocks.value + 0.5);
	kf_cell_text(&row[STACK], stack);
	free(stack);
}

static void pinned_join_stacks(struct kf_cell *to, const struct kf_cell *from)
{
	to[STACK_PINNED].count += from[STACK_PINNED].count;
	kf_cell_add_error(&to[STACK_ERROR], &from[STACK_ERROR]);
	to[STACK_LIVE].count += from[STACK_LIVE].count;
	to[STACK_BLOCKS].count += from[STACK_BLOCKS].count;
}

static void pinned_stacks(struct kf_table *t, const struct kf_prof *prof,
			  const struct kf_snapshot *s,
			  struct kf_estimate *unknown)
{
	struct kf_pinned *all = kf_pinned_stacks(s);

	kf_table_init(t, stack_columns, NR_STACK_COLUMNS);
	for (size_t i = 0; all && i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];

		if (site->value.value <= 0 ||
		    site->stack->entry >= s->nr_stacks)
			continue;
		pinned_add_stack(t, prof, site, all);
		*unknown = kf_estimate_sum(*unknown,
					   all[site->stack->entry].unknown);
	}
	free(all);
	kf_table_merge(t, (const int[]){STACK}, 1, pinned_join_stacks);
	kf_table_sort(t, STACK_PINNED);
}

static int pinned_read(struct pinned *p, const struct kf_cli *cli,
		       const struct kf_watch *w)
{
	const struct kf_snapshot *s = &w->last->snap;
	char *path = kf_format("%s/%s", w->last->dir, w->last->name);
	struct kf_prof prof = {.cli = cli, .path = path, .pick = {.at = -1}};
	int status = kf_prof_open(&prof);

	*p = (struct pinned){
		.noted_ns = kf_pinned_noted(s),
		.bytes = kf_snapshot_value(s, "pinned"),
	};
	if (status)
		prof.nr_sites = 0;
	pinned_tags(&p->tags, &prof, s);
	pinned_stacks(&p->stacks, &prof, s, &p->unknown);
	kf_prof_close(&prof);
	free(path);
	return status;
}

static uint64_t pinned_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pinned_say(const struct pinned *p, bool alive)
{
	char bytes[32], error[32];
	uint64_t now = pinned_now();

	if (!p->noted_ns) {
		printf("not known: which blocks pin half-empty slabs: %s\n",
		       alive ? "the process has not answered"
			     : "the process was not asked while it ran");
		return;
	}
	printf("pinned: %s of free blocks are in slabs that live blocks keep",
	       kf_human_bytes(bytes, sizeof(bytes), p->bytes));
	if (alive && now > p->noted_ns)
		printf(", %.0f s ago", (double)(now - p->noted_ns) / 1e9);
	else if (!alive)
		printf(", when the process was last asked");
	putchar('\n');
	if (p->unknown.value <= 0)
		return;
	printf("not known: what another %s of blocks (+- %s) pin: they were allocated later, or by threads without a heap\n",
	       kf_human_bytes(bytes, sizeof(bytes), (uint64_t)p->unknown.value),
	       kf_human_bytes(error, sizeof(error),
			      (uint64_t)kf_estimate_error(p->unknown)));
}

int kf_explain_print_pinned(const struct kf_cli *cli, const struct kf_watch *w)
{
	struct pinned p;
	int status = pinned_read(&p, cli, w);

	putchar('\n');
	pinned_say(&p, w->last->life == KF_LIFE_ALIVE);
	if (p.noted_ns) {
		kf_explain_print_table(cli, &p.tags, "tags");
		kf_explain_print_table(cli, &p.stacks, "stacks");
	}
	kf_table_release(&p.tags);
	kf_table_release(&p.stacks);
	return status;
}

int kf_explain_json_pinned(const struct kf_cli *cli, const struct kf_watch *w,
			   json_t *o)
{
	struct pinned p;
	int status = pinned_read(&p, cli, w);
	json_t *pinned = json_null();

	if (p.noted_ns)
		pinned = json_pack("{s:I, s:f, s:o, s:o}", "bytes",
				   (json_int_t)p.bytes, "unknown_live_bytes",
				   p.unknown.value, "tags",
				   kf_table_json(&p.tags), "stacks",
				   kf_table_json(&p.stacks));
	json_object_set_new(o, "pinned", pinned);
	kf_table_release(&p.tags);
	kf_table_release(&p.stacks);
	return status;
}
