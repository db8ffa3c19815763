/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rows of the screen: those of the table that belong to the chosen process
 * and match the filter, in the order of the sort column or as a tree.
 */
#define _GNU_SOURCE
#include "config.h"

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

void kf_screen_make(struct kf_screen *s)
{
	size_t nr;

	kf_table_release(&s->table);
	s->sorted = kf_top_table(s->top, &s->table);
	nr = s->table.nr_rows;
	free(s->rows);
	s->rows = kf_alloc(nr + 1, sizeof(*s->rows));
	s->nr_rows = 0;
	for (size_t i = 0; i < nr; i++) {
		size_t row = s->turned ? nr - 1 - i : i;

		if (rows_wants(s, row))
			s->rows[s->nr_rows++] = row;
	}
	if (s->tree && s->top->view == KF_TOP_PROCESSES)
		kf_screen_tree(s);
}
