/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table and its three formats. Text is escaped in each of them: a name may
 * not be valid UTF-8, and CSV is printed on terminals too.
 */
#include "config.h"

#include "cli/table.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Longer names stand before no blanks: they would make all rows as long. */
#define WIDEST_NAMES 80

void kf_table_init(struct kf_table *t, const struct kf_column *columns,
		   size_t nr)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->nr_columns = nr;
}

struct kf_cell *kf_table_row(struct kf_table *t)
{
	size_t at = t->nr_rows * t->nr_columns;
	size_t bytes = (at + t->nr_columns) * sizeof(*t->cells);

	t->cells = realloc(t->cells, bytes);
	if (!t->cells) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	memset(t->cells + at, 0, t->nr_columns * sizeof(*t->cells));
	t->nr_rows++;
	return t->cells + at;
}

void kf_table_release(struct kf_table *t)
{
	for (size_t i = 0; i < t->nr_rows * t->nr_columns; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t->fitting);
	memset(t, 0, sizeof(*t));
}

void kf_cell_text(struct kf_cell *cell, const char *text)
{
	size_t room = 4 * strlen(text) + 1;

	free(cell->text);
	cell->text = kf_alloc(room, 1);
	kf_escape(cell->text, room, text);
}

static const struct kf_cell *cell_at(const struct kf_table *t, size_t row,
				     size_t column)
{
	return &t->cells[row * t->nr_columns + column];
}

static char *signed_bytes(char *buf, size_t size, int64_t n)
{
	if (n >= 0)
		return kf_human_bytes(buf, size, (uint64_t)n);
	buf[0] = '-';
	kf_human_bytes(buf + 1, size - 1, -(uint64_t)n);
	return buf;
}

static const char *show_number(char *buf, size_t size, enum kf_cell_kind kind,
			       const struct kf_cell *c, bool exact)
{
	switch (kind) {
	case KF_CELL_BYTES:
		if (!exact)
			return kf_human_bytes(buf, size, c->count);
		break;
	case KF_CELL_SIGNED:
		if (!exact)
			return signed_bytes(buf, size, (int64_t)c->count);
		snprintf(buf, size, "%lld", (long long)c->count);
		return buf;
	case KF_CELL_RATE:
		if (!exact)
			return kf_human_count(buf, size, c->real);
		snprintf(buf, size, "%.3f", c->real);
		return buf;
	case KF_CELL_PERCENT:
		snprintf(buf, size, "%.1f%%", c->real);
		return buf;
	case KF_CELL_AGE:
		if (!exact)
			return kf_human_age(buf, size, c->count);
		break;
	case KF_CELL_SECONDS:
		if (!exact)
			return kf_human_seconds(buf, size, c->real);
		snprintf(buf, size, "%.9f", c->real);
		return buf;
	default:
		break;
	}
	snprintf(buf, size, "%llu", (unsigned long long)c->count);
	return buf;
}

const char *kf_table_text(const struct kf_table *t, size_t row, size_t column,
			  char buf[KF_CELL_SIZE], bool exact)
{
	const struct kf_cell *c = cell_at(t, row, column);
	enum kf_cell_kind kind = t->columns[column].kind;

	if (c->none)
		return c->text && c->text[0] ? c->text : "-";
	if (kind == KF_CELL_TEXT)
		return c->text && c->text[0] ? c->text : "-";
	return show_number(buf, KF_CELL_SIZE, kind, c, exact);
}

/*
 * Columns on the screen; bytes that are invalid in the locale count one each.
 */
int kf_text_width(const char *text)
{
	size_t size = strlen(text), n;
	wchar_t *wide = kf_alloc(size + 1, sizeof(*wide));
	int width = -1;

	n = mbstowcs(wide, text, size + 1);
	if (n != (size_t)-1)
		width = wcswidth(wide, n);
	free(wide);
	return width < 0 ? (int)size : width;
}

static void table_put_cell(const char *text, int width, bool left, bool last,
			   const char *color)
{
	int pad = width - kf_text_width(text);

	if (pad < 0)
		pad = 0;
	printf("%*s%s%s%s", left ? 0 : pad, "", color ? color : "", text,
	       color ? "\033[0m" : "");
	if (last)
		putchar('\n');
	else
		printf("%*s%*s", left ? pad : 0, "", KF_TABLE_GAP, "");
}

static size_t last_column(const struct kf_table *t)
{
	size_t last = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].head)
			last = i;
	}
	return last;
}

static void print_row(const struct kf_table *t, size_t row, const int *width,
		      const struct kf_cli *cli)
{
	static const char *const colors[] = {NULL, "\033[33m", "\033[31m"};
	size_t last = last_column(t);
	char buf[KF_CELL_SIZE];

	for (size_t i = 0; i <= last; i++) {
		const struct kf_column *col = &t->columns[i];

		if (!col->head)
			continue;
		table_put_cell(kf_table_text(t, row, i, buf, cli->exact),
			       width[i], col->kind == KF_CELL_TEXT, i == last,
			       cli->color ? colors[cell_at(t, row, i)->mark]
					  : NULL);
	}
}

int *kf_table_widths(const struct kf_table *t, const struct kf_cli *cli)
{
	int *width = kf_alloc(t->nr_columns, sizeof(*width));
	char buf[KF_CELL_SIZE];

	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].head)
			continue;
		width[i] =
			cli->no_header ? 0 : kf_text_width(t->columns[i].head);
		for (size_t row = 0; row < t->nr_rows; row++) {
			int w = kf_text_width(
				kf_table_text(t, row, i, buf, cli->exact));

			width[i] = KF_MAX(width[i], w);
		}
	}
	return width;
}

static void print_people(struct kf_table *t, const struct kf_cli *cli)
{
	size_t last = last_column(t);
	int *width;

	if (kf_terminal_width())
		kf_table_fit(t, cli, kf_terminal_width());
	width = kf_table_widths(t, cli);
	for (size_t i = 0; i < last; i++) {
		if (t->columns[i].names)
			width[i] = KF_MIN(width[i], WIDEST_NAMES);
	}

	for (size_t i = 0; i <= last && !cli->no_header; i++) {
		if (t->columns[i].head)
			table_put_cell(t->columns[i].head, width[i],
				       t->columns[i].kind == KF_CELL_TEXT,
				       i == last,
				       cli->color ? "\033[1m" : NULL);
	}
	for (size_t row = 0; row < t->nr_rows; row++)
		print_row(t, row, width, cli);
	free(width);
}

static json_t *cell_json(const struct kf_cell *c, enum kf_cell_kind kind)
{
	if (c->none)
		return json_null();
	switch (kind) {
	case KF_CELL_TEXT:
		return json_string(c->text ? c->text : "");
	case KF_CELL_RATE:
	case KF_CELL_PERCENT:
	case KF_CELL_SECONDS:
		return json_real(isfinite(c->real) ? c->real : 0);
	default:
		return json_integer((json_int_t)c->count);
	}
}

json_t *kf_table_json(const struct kf_table *t)
{
	json_t *rows = json_array();

	for (size_t row = 0; row < t->nr_rows; row++) {
		json_t *o = json_object();

		for (size_t i = 0; i < t->nr_columns; i++) {
			const struct kf_column *col = &t->columns[i];

			if (col->key)
				json_object_set_new(
					o, col->key,
					cell_json(cell_at(t, row, i),
						  col->kind));
		}
		json_array_append_new(rows, o);
	}
	return rows;
}

static void table_print_json(const struct kf_table *t)
{
	json_t *rows = kf_table_json(t);

	json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(rows);
}

/* RFC 4180, except that lines end in a newline alone. */
static void put_csv(const char *text, bool first)
{
	if (!first)
		putchar(',');
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void print_csv_row(const struct kf_table *t, size_t row)
{
	char buf[KF_CELL_SIZE];
	bool first = true;

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_cell *c = cell_at(t, row, i);
		const struct kf_column *col = &t->columns[i];

		if (!col->key)
			continue;
		buf[0] = '\0';
		if (c->none)
			;
		else if (col->kind == KF_CELL_PERCENT)
			snprintf(buf, sizeof(buf), "%.3f", c->real);
		else if (col->kind != KF_CELL_TEXT)
			show_number(buf, sizeof(buf), col->kind, c, true);
		put_csv(col->kind != KF_CELL_TEXT ? buf
			: c->text		  ? c->text
						  : "",
			first);
		first = false;
	}
	putchar('\n');
}

static void print_csv(const struct kf_table *t, bool no_header)
{
	bool first = true;

	for (size_t i = 0; i < t->nr_columns && !no_header; i++) {
		if (!t->columns[i].key)
			continue;
		put_csv(t->columns[i].key, first);
		first = false;
	}
	if (!no_header)
		putchar('\n');
	for (size_t row = 0; row < t->nr_rows; row++)
		print_csv_row(t, row);
}

void kf_table_print(struct kf_table *t, const struct kf_cli *cli)
{
	kf_pager_start(cli);
	if (cli->format == KF_FORMAT_JSON)
		table_print_json(t);
	else if (cli->format == KF_FORMAT_CSV)
		print_csv(t, cli->no_header);
	else
		print_people(t, cli);
}
