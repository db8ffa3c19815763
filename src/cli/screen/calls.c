/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree of calls: see calls.h. It is made anew for each look; what the user
 * opened or closed is kept by the path of a call.
 *
 * Without a word of the user, a call is open if it is its caller's only one:
 * one step then opens the calls down to where they part.
 */
#include "config.h"

#include "cli/screen/calls.h"

#include "cli/process.h"
#include "reader/map.h"

#include <stdlib.h>
#include <string.h>

enum {
	LIVE,
	ERROR,
	SHARE,
	GROWTH,
	ALLOC_RATE,
	CALL,
	PID,
	ID,
	ABOVE,
	STATE,
	NR_COLUMNS
};

static const struct kf_column calls_columns[NR_COLUMNS] = {
	[LIVE] = {"LIVE", "live_bytes", KF_CELL_BYTES},
	[ERROR] = {"+-", "error_95", KF_CELL_BYTES},
	[SHARE] = {"OF-ALL", "share", KF_CELL_PERCENT},
	[GROWTH] = {"GROWTH/s", "growth_per_second", KF_CELL_SIGNED},
	[ALLOC_RATE] = {"ALLOC/s", "allocated_per_second", KF_CELL_BYTES},
	[CALL] = {"CALL", "function", KF_CELL_TEXT, true},
	[PID] = {NULL, "pid", KF_CELL_COUNT},
	[ID] = {NULL, "call", KF_CELL_COUNT},
	[ABOVE] = {NULL, "above", KF_CELL_COUNT},
	[STATE] = {NULL, "state", KF_CELL_COUNT},
};

struct call {
	uint64_t id; /* of the process and all calls down to this one */
	char *text;
	struct kf_estimate live;
	double growth;
	double allocated;
	size_t nr_below;
	struct call *below; /* the first one */
	struct call *next;  /* the next with the same caller */
};

struct calls {
	struct kf_table *table;
	int32_t pid;
	struct call all; /* the processes are below it */
};

struct chosen {
	uint64_t id;
	bool open;
};

static struct kf_map calls_chosen = {.entry_size = sizeof(struct chosen)};

void kf_calls_open(uint64_t call, bool open)
{
	const struct chosen chosen = {call, open};
	bool is_new;

	memcpy(kf_entry(&calls_chosen, call, &is_new), &chosen, sizeof(chosen));
}

static bool call_is_open(const struct call *c, const struct call *above)
{
	const void *entry = kf_map_find(&calls_chosen, c->id);
	struct chosen chosen;

	if (!entry)
		return above->nr_below == 1;
	memcpy(&chosen, entry, sizeof(chosen));
	return chosen.open;
}

static struct call *call_below(struct call *above, const char *text)
{
	struct call *c = above->below;

	while (c && strcmp(c->text, text) != 0)
		c = c->next;
	if (c)
		return c;
	c = kf_alloc(1, sizeof(*c));
	c->text = kf_format("%s", text);
	c->id = kf_map_key(above->id, text, strlen(text)) | 1;
	c->next = above->below;
	above->below = c;
	above->nr_below++;
	return c;
}

static void call_count(struct call *c, const struct kf_top_stack *stack)
{
	c->live = kf_estimate_sum(c->live, stack->live);
	c->growth += stack->growth;
	c->allocated += stack->allocated;
}

static void calls_add(void *arg, const struct kf_top_stack *stack)
{
	struct calls *t = arg;
	int32_t pid = kf_process_id(stack->file);
	struct call *c = &t->all;
	char name[KF_PROCESS_NAME];
	char *process;

	if (t->pid && pid != t->pid)
		return;
	call_count(c, stack);
	kf_process_name(stack->file, name);
	process = kf_format("%s %d", name, pid);
	c = call_below(c, process);
	free(process);
	call_count(c, stack);
	if (!kf_top_calls(stack->key))
		call_count(call_below(c, kf_top_stack_text(stack->key)), stack);
	for (size_t i = kf_top_calls(stack->key); i-- > 0;) {
		c = call_below(c, kf_top_call(stack->key, i));
		call_count(c, stack);
	}
}

static int calls_by_live(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a;
	const struct call *y = *(const struct call *const *)b;

	if (x->live.value != y->live.value)
		return x->live.value < y->live.value ? 1 : -1;
	return strcmp(x->text, y->text);
}

static void calls_sort(struct call *above)
{
	struct call **all = kf_alloc(above->nr_below, sizeof(struct call *));
	struct call **link = &above->below;
	size_t nr = 0;

	for (struct call *c = above->below; c; c = c->next)
		all[nr++] = c;
	qsort(all, nr, sizeof(all[0]), calls_by_live);
	for (size_t i = 0; i < nr; i++) {
		*link = all[i];
		link = &all[i]->next;
	}
	*link = NULL;
	free(all);
}

static void calls_row(const struct calls *t, const struct call *c,
		      const struct call *above, bool open, int depth)
{
	struct kf_cell *row = kf_table_row(t->table);
	const char *sign = !c->nr_below ? " " : open ? "-" : "+";
	char *text = kf_format("%*s%s %s", 2 * depth, "", sign, c->text);

	row[LIVE].count = (uint64_t)c->live.value;
	row[ERROR].count = (uint64_t)kf_estimate_error(c->live);
	row[SHARE].real = 100 * c->live.value / t->all.live.value;
	row[GROWTH].count = (uint64_t)(int64_t)c->growth;
	row[ALLOC_RATE].count = (uint64_t)c->allocated;
	kf_cell_text(&row[CALL], text);
	row[PID].count = (uint64_t)t->pid;
	row[ID].count = c->id;
	row[ABOVE].count = above->id;
	row[STATE].count = !c->nr_below ? KF_CALL_LEAF
			   : open	? KF_CALL_OPEN
					: KF_CALL_CLOSED;
	free(text);
}

/* Calls that part are indented, so that long stacks stay on the screen. */
static void calls_show(const struct calls *t, struct call *above, int depth)
{
	calls_sort(above);
	for (struct call *c = above->below; c; c = c->next) {
		bool open = c->nr_below && call_is_open(c, above);

		calls_row(t, c, above, open, depth);
		if (open)
			calls_show(t, c, depth + (c->nr_below > 1));
	}
}

static void calls_free(struct call *above)
{
	struct call *c;

	while ((c = above->below)) {
		above->below = c->next;
		calls_free(c);
		free(c->text);
		free(c);
	}
}

void kf_calls_table(struct kf_table *t, const struct kf_top *top, int32_t pid)
{
	struct calls calls = {.table = t, .pid = pid};

	kf_table_init(t, calls_columns, NR_COLUMNS);
	kf_top_stacks(top->cli, &top->now, top->has_then ? &top->then : NULL,
		      calls_add, &calls);
	if (calls.all.nr_below)
		calls_show(&calls, &calls.all, 0);
	calls_free(&calls.all);
}
