/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table that a command fills in once and that is printed as a table, JSON or
 * CSV. Cells hold exact values; they are rounded when printed.
 */
#ifndef KF_CLI_TABLE_H
#define KF_CLI_TABLE_H

#include "reader/human.h"
#include "cli/cli.h"

#include <jansson.h>

enum kf_cell_kind {
	KF_CELL_TEXT,
	KF_CELL_COUNT, /* a number of things */
	KF_CELL_BYTES,
	KF_CELL_SIGNED, /* bytes that may be below 0 */
	KF_CELL_RATE,	/* a second */
	KF_CELL_PERCENT,
	KF_CELL_AGE,	 /* seconds */
	KF_CELL_SECONDS, /* with a fraction */
};

enum kf_mark { KF_MARK_NONE, KF_MARK_WARN, KF_MARK_BAD };

struct kf_column {
	const char *head; /* heading; NULL: not in tables */
	const char *key;  /* name in JSON and CSV; NULL: not there */
	enum kf_cell_kind kind;
	bool names; /* text: functions, which may be cut to the terminal */
	/*
	 * on a terminal without room for all columns, those with the lowest
	 * numbers are left out first; 0: never, unless it has only "-"
	 */
	unsigned char spare;
};

struct kf_cell {
	char *text;	/* of a text cell; owned by the table */
	uint64_t count; /* of a count, bytes (also signed) or age */
	double real;	/* of a rate, percentage or seconds */
	bool none;	/* there is no value; tables have @text, or "-" */
	enum kf_mark mark;
};

struct kf_table {
	const struct kf_column *columns;
	size_t nr_columns;
	size_t nr_rows;
	struct kf_cell *cells;	   /* row after row */
	struct kf_column *fitting; /* owned: @columns are these, or NULL */
};

/**
 * kf_table_init() - begin a table
 * @t:		the table
 * @columns:	its columns; they outlive it
 * @nr:		how many
 */
void kf_table_init(struct kf_table *t, const struct kf_column *columns,
		   size_t nr);

/**
 * kf_table_row() - add a row of empty cells
 * @t:		the table
 *
 * Return: its first cell; valid until the next row is added.
 */
struct kf_cell *kf_table_row(struct kf_table *t);

/**
 * kf_table_column() - a column by the name that --sort takes
 * @t:		the table
 * @name:	the heading in lower case, up to the first character that is not
 *		a letter
 *
 * Return: its index, or -1.
 */
int kf_table_column(const struct kf_table *t, const char *name);

/**
 * kf_table_column_names() - the names that kf_table_column() takes
 * @t:		the table
 *
 * Return: the names with commas between; free() it.
 */
char *kf_table_column_names(const struct kf_table *t);

/**
 * kf_table_sort() - sort the rows: texts ascending, numbers descending
 * @t:		the table
 * @column:	index of the sort column
 *
 * The sort is stable.
 */
void kf_table_sort(struct kf_table *t, int column);

/* Adds the cells of a row that says the same to another one. */
typedef void kf_row_add(struct kf_cell *to, const struct kf_cell *from);

/**
 * kf_table_merge() - make rows that say the same one row
 * @t:		the table; its rows come into another order
 * @keys:	indices of the columns that are equal in such rows, names of
 *		functions by kf_calls_compare(); no others are names
 * @nr_keys:	how many
 * @add:	adds up the other columns
 */
void kf_table_merge(struct kf_table *t, const int *keys, size_t nr_keys,
		    kf_row_add *add);

/**
 * kf_cell_add_error() - add the error of an estimate to another one's
 * @to:		in and out: half an interval
 * @from:	of an estimate that does not depend on it
 */
void kf_cell_add_error(struct kf_cell *to, const struct kf_cell *from);

/**
 * kf_table_print() - print it on stdout, by a pager if there is one
 * @t:		the table; names of functions are cut if stdout is a terminal
 * @cli:	the format and its options
 */
void kf_table_print(struct kf_table *t, const struct kf_cli *cli);

/**
 * kf_table_json() - its rows, as they are printed in JSON
 * @t:		the table
 *
 * Return: an array of objects; json_decref() it.
 */
json_t *kf_table_json(const struct kf_table *t);

/* Room for the text of a number. */
#define KF_CELL_SIZE 64

#define KF_TABLE_GAP 2 /* blanks between columns */

/**
 * kf_table_text() - the printed text of a cell
 * @t:		the table
 * @row:	its row
 * @column:	its column
 * @buf:	room for the text
 * @exact:	no rounding
 *
 * Return: the text, in @buf or in the table.
 */
const char *kf_table_text(const struct kf_table *t, size_t row, size_t column,
			  char buf[KF_CELL_SIZE], bool exact);

/**
 * kf_text_width() - columns of a text on the screen
 * @text:	the text; bytes that are invalid in the locale count one each
 *
 * Return: how many.
 */
int kf_text_width(const char *text);

/**
 * kf_table_widths() - the width of each column on the screen
 * @t:		the table
 * @cli:	the options of the format
 *
 * Return: an array with an element for each column, 0 if not shown; free() it.
 */
int *kf_table_widths(const struct kf_table *t, const struct kf_cli *cli);

/**
 * kf_table_release() - free what a table holds
 * @t:		the table
 */
void kf_table_release(struct kf_table *t);

/**
 * kf_cell_text() - give a text cell its text
 * @cell:	the cell
 * @text:	copied
 */
void kf_cell_text(struct kf_cell *cell, const char *text);

#endif
