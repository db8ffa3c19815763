/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which stacks mapped memory past malloc: the mappings that the library noted,
 * with what of them is resident. All that is noted of a process that has ended
 * is how much it had mapped.
 */
#include "config.h"

#include "cli/commands/explain.h"

#include "cli/process.h"
#include "cli/profile/stack-text.h"
#include "reader/pagemap.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS 6

/* Of all mappings: 64 GiB of addresses, which take some tenths of a second. */
#define PAGES_MOST ((uint64_t)1 << 24)

enum { RANK, RESIDENT, MAPPED, STACK, NR_COLUMNS };

static const struct kf_column mapping_columns[NR_COLUMNS] = {
	[RANK] = {NULL, NULL, KF_CELL_SIGNED},
	[RESIDENT] = {"RESIDENT", "resident_bytes", KF_CELL_BYTES},
	[MAPPED] = {"MAPPED", "mapped_bytes", KF_CELL_BYTES},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

static const struct kf_column ended_columns[NR_COLUMNS] = {
	[RANK] = {NULL, NULL, KF_CELL_SIGNED},
	[RESIDENT] = {NULL, "resident_bytes", KF_CELL_BYTES},
	[MAPPED] = {"MAPPED", "mapped_bytes", KF_CELL_BYTES},
	[STACK] = {"STACK", "stack", KF_CELL_TEXT, true},
};

/* The mappings of one stack. */
struct mapped {
	uint32_t stack;
	bool known; /* how much is resident */
	uint64_t resident;
	uint64_t bytes;
};

struct mappings {
	const struct kf_file *process;
	bool readable; /* the pages of the process */
	bool known;    /* how much of all is resident */
	uint64_t resident;
	size_t nr;
	struct mapped *all;
};

static int mapped_by_stack(const void *va, const void *vb)
{
	const struct mapped *a = va, *b = vb;

	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Makes one of the mappings of each stack. */
static void mapped_join(struct mappings *m)
{
	size_t nr = 0;

	qsort(m->all, m->nr, sizeof(*m->all), mapped_by_stack);
	for (size_t i = 0; i < m->nr; i++) {
		const struct mapped a = m->all[i];
		struct mapped *last = nr ? &m->all[nr - 1] : NULL;

		if (!last || last->stack != a.stack) {
			m->all[nr++] = a;
			continue;
		}
		last->known &= a.known;
		last->resident += a.resident;
		last->bytes += a.bytes;
	}
	m->nr = nr;
}

static void mapped_read(struct mappings *m, const struct kf_file *f)
{
	const struct kf_snapshot *s = &f->snap;
	struct kf_pagemap pages;

	*m = (struct mappings){
		.process = f, .known = true, .nr = s->nr_mappings};
	m->all = kf_alloc(m->nr + 1, sizeof(*m->all));
	m->readable = kf_pagemap_open("/proc", f->pid, PAGES_MOST, &pages);
	for (size_t i = 0; i < m->nr; i++) {
		const struct kf_stats_mapping *from = &s->mappings[i];
		struct mapped *to = &m->all[i];

		to->stack = from->stack;
		to->bytes = from->end - from->begin;
		to->known = kf_pagemap_resident(&pages, from->begin, from->end,
						&to->resident);
		m->known &= to->known;
		m->resident += to->resident;
	}
	kf_pagemap_close(&pages);
	mapped_join(m);
}

static bool mapped_ended(const struct mappings *m)
{
	return m->process->life == KF_LIFE_DEAD ||
	       m->process->life == KF_LIFE_EXECED;
}

static void mapped_add(struct kf_table *t, const struct kf_stack_texts *texts,
		       const struct mapped *m)
{
	char *stack;
	struct kf_cell *row;

	if (m->known && !m->resident)
		return;
	stack = kf_stack_text(texts, m->stack, CALLERS);
	row = kf_table_row(t);
	row[RANK].count = m->known ? m->resident : m->bytes;
	row[RESIDENT].count = m->resident;
	row[RESIDENT].none = !m->known;
	row[MAPPED].count = m->bytes;
	kf_cell_text(&row[STACK], stack);
	free(stack);
}

static void mapped_merge(struct kf_cell *to, const struct kf_cell *from)
{
	to[RANK].count += from[RANK].count;
	to[RESIDENT].count += from[RESIDENT].count;
	to[RESIDENT].none |= from[RESIDENT].none;
	to[MAPPED].count += from[MAPPED].count;
}

static void mapped_fill(struct kf_table *t, const struct kf_cli *cli,
			const struct mappings *m)
{
	struct kf_stack_texts texts;

	kf_table_init(t, mapped_ended(m) ? ended_columns : mapping_columns,
		      NR_COLUMNS);
	if (!m->nr)
		return;
	kf_stack_texts_open(&texts, cli, m->process);
	for (size_t i = 0; i < m->nr; i++)
		mapped_add(t, &texts, &m->all[i]);
	kf_stack_texts_close(&texts);
	kf_table_merge(t, (const int[]){STACK}, 1, mapped_merge);
	kf_table_sort(t, RANK);
}

/* How much of the rows is resident, and where that is not known, why. */
static void mapped_say_known(const struct mappings *m)
{
	if (mapped_ended(m))
		puts("mapped: past malloc, by these stacks, when the process ended; how much of it was resident is not known");
	else if (!m->readable)
		printf("not known: how much of these mappings is resident: %s\n",
		       m->process->pid
			       ? "/proc/PID/pagemap cannot be read"
			       : "the process cannot be seen from here");
	else if (!m->known)
		puts("not known: how much of the rows with - is resident: they have too many pages");
}

/* What of the row "others" is in no mapping that was noted. */
static void mapped_say_rest(const struct mappings *m, const struct kf_facts *f)
{
	uint64_t rest = f->others - KF_MIN(f->others, m->resident);
	bool much = f->mappings_known &&
		    rest > f->resident / KF_EXPLAIN_OTHERS_PART;
	char bytes[32];

	if (rest && m->nr && m->known && f->mappings_known)
		printf("others: %s are not in these mappings: mapped before samples were taken, in less than 64 KiB, or by system calls that are not seen\n",
		       kf_human_bytes(bytes, sizeof(bytes), rest));
	if (much && m->nr)
		printf("others: konfiscator trace mapped -p %d traces all callers of mmap from now on\n",
		       kf_process_id(m->process));
	else if (much)
		printf("others: no callers of mmap were noted, as samples are off or it was called before; konfiscator trace mapped -p %d traces them from now on\n",
		       kf_process_id(m->process));
}

static void mapped_say_missed(const struct mappings *m)
{
	uint64_t missed =
		kf_snapshot_value(&m->process->snap, "mappings_missed");

	if (missed)
		printf("others: %" PRIu64
		       " mapping%s not noted, or forgotten: there were too many, or their stacks could not be taken\n",
		       missed, missed == 1 ? " was" : "s were");
}

void kf_explain_print_mappings(const struct kf_cli *cli,
			       const struct kf_watch *w,
			       const struct kf_facts *f)
{
	struct mappings m;
	struct kf_table t;

	mapped_read(&m, w->last);
	mapped_fill(&t, cli, &m);
	kf_explain_print_table(cli, &t, "mapping stacks");
	if (t.nr_rows)
		mapped_say_known(&m);
	mapped_say_rest(&m, f);
	mapped_say_missed(&m);
	kf_table_release(&t);
	free(m.all);
}

json_t *kf_explain_json_mappings(const struct kf_cli *cli,
				 const struct kf_watch *w)
{
	struct mappings m;
	struct kf_table t;
	json_t *rows;

	mapped_read(&m, w->last);
	mapped_fill(&t, cli, &m);
	rows = kf_table_json(&t);
	kf_table_release(&t);
	free(m.all);
	return rows;
}
