/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rows of the screen: those of the table that belong to the chosen process
 * and match the filter, in the order of the sort column or as a tree.
 */
#define _GNU_SOURCE
#include "config.h"

#include "cli/screen/calls.h"
#include "cli/screen/screen.h"

#include <stdlib.h>
#include <string.h>

int kf_screen_column(const struct kf_table *t, const char *key)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].key && !strcmp(t->columns[i].key, key))
			return (int)i;
	}
	return -1;
}

/* Texts are searched, and the numbers that name something. */
static bool rows_has_text(const struct kf_table *t, size_t row,
			  const char *filter)
{
	char buf[KF_CELL_SIZE];

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_column *c = &t->columns[i];

		if (!c->head)
			continue;
		if (c->kind != KF_CELL_TEXT && strcmp(c->key, "pid") != 0 &&
		    strcmp(c->key, "tid") != 0)
			continue;
		if (strcasestr(kf_table_text(t, row, i, buf, true), filter))
			return true;
	}
	return false;
}

static bool rows_wants(const struct kf_screen *s, size_t row)
{
	const struct kf_table *t = &s->table;
	int column = s->pid ? kf_screen_column(t, "pid") : -1;

	if (column >= 0 &&
	    t->cells[row * t->nr_columns + (size_t)column].count !=
		    (uint64_t)s->pid)
		return false;
	return !s->filter[0] || rows_has_text(t, row, s->filter);
}

bool kf_screen_shows_calls(const struct kf_screen *s)
{
	return s->calls && s->top->view == KF_TOP_SITES;
}

static uint64_t rows_call(const struct kf_screen *s, size_t at)
{
	const struct kf_table *t = &s->table;
	int column = kf_screen_column(t, "call");

	if (column < 0 || at >= s->nr_rows)
		return 0;
	return t->cells[s->rows[at] * t->nr_columns + (size_t)column].count;
}

static void rows_choose(struct kf_screen *s, bool turned)
{
	size_t nr = s->table.nr_rows;

	free(s->rows);
	s->rows = kf_alloc(nr + 1, sizeof(*s->rows));
	s->nr_rows = 0;
	for (size_t i = 0; i < nr; i++) {
		size_t row = turned ? nr - 1 - i : i;

		if (rows_wants(s, row))
			s->rows[s->nr_rows++] = row;
	}
}

/* The call that was selected stays so, wherever it stands now. */
static void rows_make_calls(struct kf_screen *s, uint64_t selected)
{
	kf_calls_table(&s->table, s->top, s->pid);
	s->sorted = kf_screen_column(&s->table, "live_bytes");
	rows_choose(s, false);
	for (size_t i = 0; selected && i < s->nr_rows; i++) {
		if (rows_call(s, i) == selected)
			s->at = i;
	}
}

void kf_screen_make(struct kf_screen *s)
{
	uint64_t selected = rows_call(s, s->at);

	kf_table_release(&s->table);
	if (kf_screen_shows_calls(s)) {
		rows_make_calls(s, selected);
		return;
	}
	s->sorted = kf_top_table(s->top, &s->table);
	rows_choose(s, s->turned);
	if (s->tree && s->top->view == KF_TOP_PROCESSES)
		kf_screen_tree(s);
}
