/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes as a tree. Processes without the library have no row: their
 * children stand below the next ancestor that has one.
 */
#include "config.h"

#include "cli/screen/screen.h"
#include "reader/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ANCESTORS 64
#define NO_ROW SIZE_MAX

/* The rows of the screen, and for each the index of its parent. */
struct tree {
	struct kf_screen *s;
	size_t *parent;
	size_t *order; /* the rows of the tree, from top down */
	size_t nr;     /* how many are in @order */
	bool *done;
};

/* The name before the parent may have blanks and parentheses. */
static int tree_parent_of(int pid)
{
	char text[512];
	const char *end;
	int parent;

	if (kf_proc_text("/proc", pid, "stat", text, sizeof(text)) <= 0)
		return 0;
	end = strrchr(text, ')');
	if (!end || sscanf(end, ") %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static struct kf_cell *tree_cell(const struct kf_screen *s, size_t at,
				 int column)
{
	const struct kf_table *t = &s->table;

	return &t->cells[s->rows[at] * t->nr_columns + (size_t)column];
}

static size_t tree_row_of(const struct kf_screen *s, int pid, int column)
{
	for (size_t i = 0; i < s->nr_rows; i++) {
		if (tree_cell(s, i, column)->count == (uint64_t)pid)
			return i;
	}
	return NO_ROW;
}

static size_t tree_parent_row(const struct kf_screen *s, size_t at, int column)
{
	int pid = (int)tree_cell(s, at, column)->count;

	for (int i = 0; i < MOST_ANCESTORS; i++) {
		size_t found;

		pid = tree_parent_of(pid);
		if (pid <= 1)
			return NO_ROW;
		found = tree_row_of(s, pid, column);
		if (found != NO_ROW && found != at)
			return found;
	}
	return NO_ROW;
}

static void tree_put(struct tree *t, size_t at, int name, int depth)
{
	struct kf_cell *cell = tree_cell(t->s, at, name);
	char *text =
		kf_format("%*s%s", 2 * depth, "", cell->text ? cell->text : "");

	free(cell->text);
	cell->text = text;
	t->order[t->nr++] = t->s->rows[at];
	t->done[at] = true;
	for (size_t i = 0; i < t->s->nr_rows; i++) {
		if (t->parent[i] == at && !t->done[i] && depth < MOST_ANCESTORS)
			tree_put(t, i, name, depth + 1);
	}
}

void kf_screen_tree(struct kf_screen *s)
{
	int pid = kf_screen_column(&s->table, "pid");
	int name = kf_screen_column(&s->table, "process");
	size_t nr = s->nr_rows;
	struct tree t = {.s = s};

	t.parent = kf_alloc(nr + 1, sizeof(*t.parent));
	t.order = kf_alloc(nr + 1, sizeof(*t.order));
	t.done = kf_alloc(nr + 1, sizeof(*t.done));
	for (size_t i = 0; i < nr; i++)
		t.parent[i] = tree_parent_row(s, i, pid);
	for (size_t i = 0; i < nr; i++) {
		if (t.parent[i] == NO_ROW)
			tree_put(&t, i, name, 0);
	}
	/* a pid that was used anew while it was read may make a ring */
	for (size_t i = 0; i < nr; i++) {
		if (!t.done[i])
			tree_put(&t, i, name, 0);
	}
	free(t.done);
	free(t.parent);
	free(s->rows);
	s->rows = t.order;
}
