/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The screen of konfiscator top: its state, which keys.c changes, rows.c fills
 * with rows and draw.c shows.
 */
#ifndef KF_CLI_SCREEN_SCREEN_H
#define KF_CLI_SCREEN_SCREEN_H

#include "cli/screen/top.h"

#define KF_FILTER_SIZE 64

struct kf_screen {
	struct kf_top *top;
	struct kf_table table; /* the table of the latest snapshot */
	int sorted;	       /* its sort column */
	size_t nr_rows;	       /* rows that are shown */
	size_t *rows;	       /* their indices in the table, from top down */
	size_t at;	       /* the selected one, an index in @rows */
	size_t first;	       /* the first on the screen, an index in @rows */
	int32_t pid;	       /* rows of this process alone; 0: of all */
	uint64_t stack; /* the stack that is shown, by its key; 0: none */
	size_t call;	/* its first call on the screen */
	char filter[KF_FILTER_SIZE]; /* rows with this text alone; "": all */
	bool typing;		     /* keys go to the filter */
	bool turned;
	bool tree;  /* processes below their parents */
	bool calls; /* sites as a tree of calls */
	bool paused;
	bool help;
	bool done;
	uint64_t next_ns;
	int status;
};

/**
 * kf_screen_make() - make the table of the view, and choose its rows
 * @s:		the screen
 */
void kf_screen_make(struct kf_screen *s);

/**
 * kf_screen_tree() - put processes below their parents
 * @s:		the screen; the order of its rows and their names change
 *
 * The parent of a process is its closest ancestor that has a row.
 */
void kf_screen_tree(struct kf_screen *s);

/**
 * kf_screen_column() - a column by the key that it has in JSON
 * @t:		the table
 * @key:	the key
 *
 * Return: its index, or -1.
 */
int kf_screen_column(const struct kf_table *t, const char *key);

/**
 * kf_screen_shows_calls() - whether the rows are a tree of calls
 * @s:		the screen
 *
 * Return: true if so.
 */
bool kf_screen_shows_calls(const struct kf_screen *s);

/**
 * kf_screen_draw() - draw all of it
 * @s:		the screen
 */
void kf_screen_draw(struct kf_screen *s);

/**
 * kf_screen_room() - how many rows fit on the screen
 *
 * Return: at least 1.
 */
size_t kf_screen_room(void);

/* What is at a place of the screen. */
enum kf_screen_part {
	KF_SCREEN_NOTHING,
	KF_SCREEN_VIEW, /* the name of a view */
	KF_SCREEN_HEAD, /* the heading of a column */
	KF_SCREEN_ROW,
};

/**
 * kf_screen_find() - what is at a place of the screen
 * @s:		the screen, as it was drawn
 * @y:		the line
 * @x:		the column of the terminal
 * @index:	out: of the view, the table's column, or in @rows
 *
 * Return: what it is.
 */
enum kf_screen_part kf_screen_find(const struct kf_screen *s, int y, int x,
				   size_t *index);

/**
 * kf_screen_take_key() - do what a key says
 * @s:		the screen
 * @key:	the key, as getch() returns it
 */
void kf_screen_take_key(struct kf_screen *s, int key);

#endif
