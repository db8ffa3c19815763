/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the screen of konfiscator top shows: a summary, the views, and a table,
 * the calls of a stack or the help; the last line has the keys or the filter.
 */
#include "config.h"

#include "base/text.h"
#include "cli/screen/screen.h"
#include "cli/terminal.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define HEAD_LINES 3 /* the summary, the views, the column headings */
#define FOOT_LINES 1
#define LONGEST_TEXT 1024 /* more does not fit on a screen */
#define LEAST_NAME 16	  /* columns of a text that is cut */

static const char *const help_lines[] = {
	"1 2 3 4 5       processes, tags, threads, sites, sizes",
	"Tab  Shift-Tab  the next view, the one before",
	"up down PgUp PgDn Home End",
	"                select a row; scroll",
	"Enter           the sites of a process or thread; the stack of a site",
	"Esc Backspace   go back; show all rows",
	"/               show only rows that have a text; Enter keeps it",
	"< >             sort by the column to the left, to the right",
	"r               reverse the order",
	"t               show processes below their parents, sites as a tree of calls",
	"left right      in the tree of calls: close, open; Enter does both",
	"space           pause or continue",
	"h ?             show this help; any key goes back",
	"q               quit",
	"A mouse selects views, columns and rows; a click on the row opens it.",
};

/* Text that does not fit is cut; a wide letter is never cut in half. */
static void draw_text(int y, int x, const char *text)
{
	wchar_t wide[LONGEST_TEXT];
	size_t n = mbstowcs(wide, text, LONGEST_TEXT - 1);
	size_t kept = 0;
	int room = COLS - x;

	if (room <= 0 || y < 0 || y >= LINES)
		return;
	if (n == (size_t)-1) {
		mvaddnstr(y, x, text, room);
		return;
	}
	while (kept < n) {
		int width = wcwidth(wide[kept]);

		if (width > room)
			break;
		room -= width > 0 ? width : 0;
		kept++;
	}
	mvaddnwstr(y, x, wide, (int)kept);
}

static void draw_cell(int y, int *x, const char *text, int width, bool left)
{
	int pad = width - kf_text_width(text);

	draw_text(y, left || pad < 0 ? *x : *x + pad, text);
	*x += KF_MAX(width, kf_text_width(text)) + 2;
}

size_t kf_screen_room(void)
{
	return (size_t)KF_MAX(LINES - HEAD_LINES - FOOT_LINES, 1);
}

static void draw_summary(const struct kf_screen *s)
{
	const struct kf_top *t = s->top;
	uint64_t live = 0, held = 0;
	char live_text[32], held_text[32], when[16];
	time_t now = (time_t)(t->now.time_ns / 1000000000);
	struct tm tm;
	unsigned int nr = 0;
	char *line, *of;

	for (unsigned int i = 0; i < t->now.files.nr; i++) {
		const struct kf_file *f = &t->now.files.file[i];

		if (!kf_snapshots_wants(t->cli, f))
			continue;
		nr++;
		live += f->snap.totals.live;
		held += f->snap.totals.held;
	}
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%T", &tm);
	of = s->pid ? kf_format("  of %d", s->pid) : kf_format("%s", "");
	line = kf_format("konfiscator top  %s  %u process%s  live %s  held %s"
			 "%s%s%s",
			 when, nr, nr == 1 ? "" : "es",
			 kf_human_bytes(live_text, sizeof(live_text), live),
			 kf_human_bytes(held_text, sizeof(held_text), held), of,
			 s->filter[0] ? "  filtered" : "",
			 s->paused ? "  paused" : "");
	draw_text(0, 0, line);
	free(line);
	free(of);
}

/* "1 processes", to free() */
static char *draw_view_name(size_t view)
{
	return kf_format("%zu %s", view + 1, kf_top_views[view].name);
}

static void draw_views(const struct kf_screen *s)
{
	int x = 0;

	for (size_t i = 0; i < KF_TOP_VIEWS; i++) {
		char *name = draw_view_name(i);

		attrset(i == s->top->view ? A_REVERSE : A_NORMAL);
		draw_text(1, x, name);
		x += (int)strlen(name) + KF_TABLE_GAP;
		free(name);
	}
	attrset(A_NORMAL);
}

static void draw_heads(const struct kf_screen *s, const int *width)
{
	const struct kf_table *t = &s->table;
	int x = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_column *col = &t->columns[i];

		if (!col->head)
			continue;
		attrset(A_BOLD | ((int)i == s->sorted ? A_UNDERLINE : 0));
		draw_cell(2, &x, col->head, width[i],
			  col->kind == KF_CELL_TEXT);
	}
	attrset(A_NORMAL);
}

static void draw_row(const struct kf_screen *s, int y, size_t at,
		     const int *width)
{
	const struct kf_table *t = &s->table;
	attr_t base = at == s->at ? A_REVERSE : A_NORMAL;
	bool color = s->top->cli->color && has_colors();
	char buf[KF_CELL_SIZE];
	size_t row = s->rows[at];
	int x = 0;

	attrset(base);
	mvhline(y, 0, ' ', COLS);
	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_column *col = &t->columns[i];
		enum kf_mark mark = t->cells[row * t->nr_columns + i].mark;

		if (!col->head)
			continue;
		if (color && mark)
			attrset(base | (attr_t)COLOR_PAIR(mark));
		draw_cell(y, &x,
			  kf_table_text(t, row, i, buf, s->top->cli->exact),
			  width[i], col->kind == KF_CELL_TEXT);
		attrset(base);
	}
	attrset(A_NORMAL);
}

static void draw_rows(const struct kf_screen *s)
{
	int *width = kf_table_widths(&s->table, s->top->cli);
	size_t shown = KF_MIN(kf_screen_room(), s->nr_rows - s->first);

	draw_heads(s, width);
	for (size_t i = 0; i < shown; i++)
		draw_row(s, HEAD_LINES + (int)i, s->first + i, width);
	free(width);
}

static void draw_call(const struct kf_screen *s, int y, size_t call)
{
	const char *text = kf_top_call(s->stack, call);
	char *cut = s->top->cli->full_names
			    ? kf_format("%s", text)
			    : kf_names_fit(text, KF_MAX(COLS - 6, LEAST_NAME));
	char *line = kf_format("%4zu  %s", call + 1, cut);

	draw_text(y, 0, line);
	free(line);
	free(cut);
}

/* The figures of the row that has the stack, if it still has one. */
static void draw_stack(const struct kf_screen *s)
{
	const struct kf_table *t = &s->table;
	int key = kf_screen_column(t, "key");
	size_t nr = kf_top_calls(s->stack), shown, row = 0;
	char buf[KF_CELL_SIZE];
	int x = 0;

	while (key >= 0 && row < t->nr_rows &&
	       t->cells[row * t->nr_columns + (size_t)key].count != s->stack)
		row++;
	attrset(A_BOLD);
	for (size_t i = 0; row < t->nr_rows && i < t->nr_columns; i++) {
		const struct kf_column *c = &t->columns[i];
		char *text;

		if (!c->head || c->names)
			continue;
		text = kf_format(
			"%s %s", c->head,
			kf_table_text(t, row, i, buf, s->top->cli->exact));
		draw_cell(2, &x, text, 0, true);
		free(text);
	}
	if (row == t->nr_rows)
		draw_text(2, 0, "the stack has no live blocks any more");
	attrset(A_NORMAL);
	shown = KF_MIN(kf_screen_room(), nr - s->call);
	for (size_t i = 0; i < shown; i++)
		draw_call(s, HEAD_LINES + (int)i, s->call + i);
}

/* Where the screen is in a list that is longer. */
static char *draw_place(size_t first, size_t nr)
{
	return nr > kf_screen_room() ? kf_format("%zu of %zu  ", first + 1, nr)
				     : kf_format("%s", "");
}

static void draw_foot(const struct kf_screen *s)
{
	const char *keys = "1-5 view  Enter open  / filter  < > sort  r reverse"
			   "  t tree  space pause  h help  q quit";
	size_t nr = s->stack ? kf_top_calls(s->stack) : s->nr_rows;
	char *place = draw_place(s->stack ? s->call : s->at, nr);
	char *line;

	if (s->typing || s->filter[0])
		line = kf_format("filter: %s%s  %s%s", s->filter,
				 s->typing ? "_" : "", place,
				 s->typing ? "Enter keep  Esc clear"
					   : "Esc clear  / change  q quit");
	else if (s->stack)
		line = kf_format("%sEsc back  up down scroll  space pause  "
				 "h help  q quit",
				 place);
	else if (kf_screen_shows_calls(s))
		line = kf_format("%sEsc back  left right close, open  t list  "
				 "/ filter  space pause  h help  q quit",
				 place);
	else
		line = kf_format("%s%s%s", place, s->pid ? "Esc back  " : "",
				 keys);
	attrset(s->typing ? A_NORMAL : A_DIM);
	draw_text(LINES - 1, 0, line);
	attrset(A_NORMAL);
	free(place);
	free(line);
}

static void draw_help(void)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(help_lines); i++)
		draw_text(HEAD_LINES + (int)i, 2, help_lines[i]);
}

/* Cuts long texts in the middle; those of functions are kf_table_fit()'s. */
static void draw_fit(struct kf_screen *s)
{
	struct kf_table *t = &s->table;
	int room = KF_MAX(COLS / 4, LEAST_NAME);

	for (size_t i = 0; i < t->nr_rows * t->nr_columns; i++) {
		const struct kf_column *c = &t->columns[i % t->nr_columns];
		char *cut;

		if (!c->head || c->names || !t->cells[i].text)
			continue;
		cut = kf_names_fit(t->cells[i].text, room);
		free(t->cells[i].text);
		t->cells[i].text = cut;
	}
	kf_table_fit(t, s->top->cli, COLS);
}

/* Keeps the selected row and the first call on the screen. */
static void draw_scroll(struct kf_screen *s)
{
	size_t room = kf_screen_room(), nr = s->nr_rows;
	size_t calls = s->stack ? kf_top_calls(s->stack) : 0;

	s->at = nr ? KF_MIN(s->at, nr - 1) : 0;
	s->first = nr > room ? KF_MIN(s->first, nr - room) : 0;
	s->first = KF_MIN(s->first, s->at);
	if (s->at >= s->first + room)
		s->first = s->at - room + 1;
	s->call = calls > room ? KF_MIN(s->call, calls - room) : 0;
}

static const char *draw_empty(const struct kf_screen *s)
{
	if (s->table.nr_rows && s->filter[0])
		return "no row has this text: Esc shows all";
	if (s->table.nr_rows && s->pid)
		return "the process has no such rows: Esc goes back";
	return kf_top_views[s->top->view].empty;
}

void kf_screen_draw(struct kf_screen *s)
{
	draw_scroll(s);
	if (!s->top->cli->full_names)
		draw_fit(s);
	erase();
	draw_summary(s);
	draw_views(s);
	if (s->help)
		draw_help();
	else if (s->stack)
		draw_stack(s);
	else if (s->nr_rows)
		draw_rows(s);
	else
		draw_text(HEAD_LINES, 0, draw_empty(s));
	draw_foot(s);
	refresh();
}

static enum kf_screen_part draw_find_view(int x, size_t *index)
{
	int begin = 0;

	for (*index = 0; *index < KF_TOP_VIEWS; ++*index) {
		char *name = draw_view_name(*index);
		int end = begin + (int)strlen(name);

		free(name);
		if (x >= begin && x < end)
			return KF_SCREEN_VIEW;
		begin = end + KF_TABLE_GAP;
	}
	return KF_SCREEN_NOTHING;
}

static enum kf_screen_part draw_find_head(const struct kf_screen *s, int x,
					  size_t *index)
{
	const struct kf_table *t = &s->table;
	int *width = kf_table_widths(t, s->top->cli);
	enum kf_screen_part part = KF_SCREEN_NOTHING;
	int begin = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].head)
			continue;
		if (x >= begin && x < begin + width[i]) {
			*index = i;
			part = KF_SCREEN_HEAD;
		}
		begin += width[i] + KF_TABLE_GAP;
	}
	free(width);
	return part;
}

enum kf_screen_part kf_screen_find(const struct kf_screen *s, int y, int x,
				   size_t *index)
{
	if (y == 1)
		return draw_find_view(x, index);
	if (s->help || s->stack || y < 2 || y >= LINES - FOOT_LINES)
		return KF_SCREEN_NOTHING;
	if (y == 2)
		return draw_find_head(s, x, index);
	*index = s->first + (size_t)(y - HEAD_LINES);
	return *index < s->nr_rows ? KF_SCREEN_ROW : KF_SCREEN_NOTHING;
}
