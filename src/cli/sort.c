/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of a table's rows, by the names that --sort takes, and rows that
 * say the same.
 */
#include "config.h"

#include "cli/table.h"
#include "reader/calls.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "FREE%" is free, "MALLOC/s" is malloc. */
static void column_name(const struct kf_column *c, char *name, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && isupper((unsigned char)c->head[len])) {
		name[len] = (char)tolower((unsigned char)c->head[len]);
		len++;
	}
	name[len] = '\0';
}

int kf_table_column(const struct kf_table *t, const char *name)
{
	char own[32];

	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].head)
			continue;
		column_name(&t->columns[i], own, sizeof(own));
		if (!strcmp(own, name))
			return (int)i;
	}
	return -1;
}

char *kf_table_column_names(const struct kf_table *t)
{
	char *names = kf_format("%s", "");
	char own[32];

	for (size_t i = 0; i < t->nr_columns; i++) {
		char *more;

		if (!t->columns[i].head)
			continue;
		column_name(&t->columns[i], own, sizeof(own));
		more = kf_format("%s%s%s", names, names[0] ? ", " : "", own);
		free(names);
		names = more;
	}
	return names;
}

static int texts_compare(const char *a, const char *b, bool names)
{
	return (names ? kf_calls_compare : strcmp)(a ? a : "", b ? b : "");
}

static int cells_compare(const struct kf_cell *a, const struct kf_cell *b,
			 const struct kf_column *column)
{
	switch (column->kind) {
	case KF_CELL_TEXT:
		return texts_compare(a->text, b->text, column->names);
	case KF_CELL_RATE:
	case KF_CELL_PERCENT:
	case KF_CELL_SECONDS:
		return (a->real < b->real) - (a->real > b->real);
	case KF_CELL_SIGNED:
		return ((int64_t)a->count < (int64_t)b->count) -
		       ((int64_t)a->count > (int64_t)b->count);
	default:
		return (a->count < b->count) - (a->count > b->count);
	}
}

struct order {
	const struct kf_table *table;
	size_t column;
};

/* The sort is stable. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	const struct kf_table *t = o->table;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int c = cells_compare(&t->cells[x * t->nr_columns + o->column],
			      &t->cells[y * t->nr_columns + o->column],
			      &t->columns[o->column]);

	return c ? c : (x > y) - (x < y);
}

void kf_table_sort(struct kf_table *t, int column)
{
	size_t n = t->nr_columns, bytes = n * sizeof(struct kf_cell);
	struct order order = {t, (size_t)column};
	size_t *rows = kf_alloc(t->nr_rows, sizeof(*rows));
	struct kf_cell *cells = kf_alloc(t->nr_rows, bytes);

	for (size_t i = 0; i < t->nr_rows; i++)
		rows[i] = i;
	qsort_r(rows, t->nr_rows, sizeof(*rows), compare_rows, &order);
	for (size_t i = 0; i < t->nr_rows; i++)
		memcpy(cells + i * n, t->cells + rows[i] * n, bytes);
	free(rows);
	free(t->cells);
	t->cells = cells;
}

static bool rows_are_alike(const struct kf_table *t, const struct kf_cell *a,
			   const struct kf_cell *b, const int *keys,
			   size_t nr_keys)
{
	for (size_t i = 0; i < nr_keys; i++) {
		if (cells_compare(&a[keys[i]], &b[keys[i]],
				  &t->columns[keys[i]]))
			return false;
	}
	return true;
}

void kf_table_merge(struct kf_table *t, const int *keys, size_t nr_keys,
		    kf_row_add *add)
{
	size_t n = t->nr_columns, left = 0;

	/* Stable sorts bring rows that are alike side by side. */
	for (size_t i = nr_keys; i-- > 0;)
		kf_table_sort(t, keys[i]);
	for (size_t i = 0; i < t->nr_rows; i++) {
		struct kf_cell *row = t->cells + i * n;
		struct kf_cell *to = t->cells + (left ? left - 1 : 0) * n;

		if (!left || !rows_are_alike(t, to, row, keys, nr_keys)) {
			memmove(t->cells + left++ * n, row, n * sizeof(*row));
			continue;
		}
		add(to, row);
		for (size_t k = 0; k < n; k++) {
			if (t->columns[k].names)
				kf_take_marks(&to[k].text, row[k].text);
			free(row[k].text);
		}
	}
	t->nr_rows = left;
}

void kf_cell_add_error(struct kf_cell *to, const struct kf_cell *from)
{
	double a = (double)to->count, b = (double)from->count;

	to->count = (uint64_t)(sqrt(a * a + b * b) + 0.5);
}
