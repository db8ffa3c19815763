/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator top on a terminal, by ncurses.
 *
 * Signals are delivered only while the program waits, so that the terminal is
 * never left in the middle of a change. A fatal signal ends the program after
 * the terminal was restored.
 */
#include "config.h"

#include "cli/screen/top.h"
#include "cli/terminal.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define HEAD_LINES 3 /* the summary, the views, the column headings */
#define FOOT_LINES 1
#define ESCAPE_MS 25
#define LONGEST_TEXT 1024 /* more does not fit on a screen */

static volatile sig_atomic_t screen_caught;

static const int screen_ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

struct screen {
	struct kf_top *top;
	struct kf_table table; /* the table of the latest snapshot */
	int sorted;	       /* its sort column */
	bool turned;
	bool frozen;
	bool help;
	bool done;
	size_t first; /* first row on the screen */
	uint64_t next_ns;
	int status;
};

static const char *const help_lines[] = {
	"1 2 3 4 5       processes, tags, threads, sites, sizes",
	"Tab  Shift-Tab  the next view, the one before",
	"< >             sort by the column to the left, to the right",
	"r               reverse the order",
	"space           freeze or continue",
	"up down PgUp PgDn Home End",
	"                scroll",
	"h ?             show this help; any key goes back",
	"q               quit",
};

static void screen_on_signal(int sig)
{
	screen_caught = sig;
}

static uint64_t screen_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Text that does not fit is cut; a wide letter is never cut in half. */
static void screen_put(int y, int x, const char *text)
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

static void put_cell(int y, int *x, const char *text, int width, bool left)
{
	int pad = width - kf_text_width(text);

	screen_put(y, left || pad < 0 ? *x : *x + pad, text);
	*x += KF_MAX(width, kf_text_width(text)) + 2;
}

static int rows_shown(void)
{
	return KF_MAX(LINES - HEAD_LINES - FOOT_LINES, 1);
}

static void draw_summary(const struct screen *s)
{
	const struct kf_top *t = s->top;
	uint64_t live = 0, held = 0;
	char live_text[32], held_text[32], when[16];
	time_t now = (time_t)(t->now.time_ns / 1000000000);
	struct tm tm;
	unsigned int nr = 0;
	char *line;

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
	line = kf_format("konfiscator top  %s  %u process%s  live %s  held %s"
			 "%s",
			 when, nr, nr == 1 ? "" : "es",
			 kf_human_bytes(live_text, sizeof(live_text), live),
			 kf_human_bytes(held_text, sizeof(held_text), held),
			 s->frozen ? "  frozen" : "");
	screen_put(0, 0, line);
	free(line);
}

static void draw_views(const struct screen *s)
{
	int x = 0;

	for (size_t i = 0; i < KF_TOP_VIEWS; i++) {
		char *name = kf_format("%zu %s", i + 1, kf_top_views[i].name);

		attrset(i == s->top->view ? A_REVERSE : A_NORMAL);
		screen_put(1, x, name);
		x += (int)strlen(name) + 2;
		free(name);
	}
	attrset(A_NORMAL);
}

static void draw_heads(const struct screen *s, const int *width)
{
	const struct kf_table *t = &s->table;
	int x = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_column *col = &t->columns[i];

		if (!col->head)
			continue;
		attrset(A_BOLD | ((int)i == s->sorted ? A_UNDERLINE : 0));
		put_cell(2, &x, col->head, width[i], col->kind == KF_CELL_TEXT);
	}
	attrset(A_NORMAL);
}

static void draw_row(const struct screen *s, int y, size_t row,
		     const int *width)
{
	const struct kf_table *t = &s->table;
	bool color = s->top->cli->color && has_colors();
	char buf[KF_CELL_SIZE];
	int x = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct kf_column *col = &t->columns[i];
		enum kf_mark mark = t->cells[row * t->nr_columns + i].mark;

		if (!col->head)
			continue;
		if (color && mark)
			attrset((attr_t)COLOR_PAIR(mark));
		put_cell(y, &x,
			 kf_table_text(t, row, i, buf, s->top->cli->exact),
			 width[i], col->kind == KF_CELL_TEXT);
		attrset(A_NORMAL);
	}
}

static void draw_rows(const struct screen *s)
{
	const struct kf_table *t = &s->table;
	int *width = kf_table_widths(t, s->top->cli);
	size_t shown = KF_MIN((size_t)rows_shown(), t->nr_rows - s->first);

	draw_heads(s, width);
	for (size_t i = 0; i < shown; i++) {
		size_t row = s->first + i;

		draw_row(s, HEAD_LINES + (int)i,
			 s->turned ? t->nr_rows - 1 - row : row, width);
	}
	free(width);
}

static void draw_foot(const struct screen *s)
{
	const char *keys =
		"1-5 view  < > sort  r reverse  space freeze  h help  "
		"q quit";
	char *line = s->table.nr_rows > (size_t)rows_shown()
			     ? kf_format("%s  %zu of %zu", keys, s->first + 1,
					 s->table.nr_rows)
			     : kf_format("%s", keys);

	attrset(A_DIM);
	screen_put(LINES - 1, 0, line);
	attrset(A_NORMAL);
	free(line);
}

static void draw_help(void)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(help_lines); i++)
		screen_put(HEAD_LINES + (int)i, 2, help_lines[i]);
}

static void screen_draw(struct screen *s)
{
	size_t rows = (size_t)rows_shown(), nr = s->table.nr_rows;

	s->first = nr > rows ? KF_MIN(s->first, nr - rows) : 0;
	kf_table_fit(&s->table, s->top->cli, COLS);
	erase();
	draw_summary(s);
	draw_views(s);
	if (s->help)
		draw_help();
	else if (nr)
		draw_rows(s);
	else
		screen_put(HEAD_LINES, 0, kf_top_views[s->top->view].empty);
	draw_foot(s);
	refresh();
}

static void screen_make_table(struct screen *s)
{
	kf_table_release(&s->table);
	s->sorted = kf_top_table(s->top, &s->table);
}

static void set_view(struct screen *s, size_t view)
{
	s->top->view = view;
	s->top->sort = -1;
	s->turned = false;
	s->first = 0;
	screen_make_table(s);
}

static void move_sort(struct screen *s, int step)
{
	int nr = (int)s->table.nr_columns, column = s->sorted + step;

	while (column >= 0 && column < nr && !s->table.columns[column].head)
		column += step;
	if (column < 0 || column >= nr)
		return;
	s->top->sort = column;
	screen_make_table(s);
}

static void scroll_by(struct screen *s, int rows)
{
	if (rows < 0 && s->first < (size_t)-rows)
		s->first = 0;
	else
		s->first += (size_t)rows;
}

static void take_scroll(struct screen *s, int key)
{
	switch (key) {
	case KEY_UP:
		scroll_by(s, -1);
		break;
	case KEY_DOWN:
		scroll_by(s, 1);
		break;
	case KEY_PPAGE:
		scroll_by(s, -rows_shown());
		break;
	case KEY_NPAGE:
		scroll_by(s, rows_shown());
		break;
	case KEY_HOME:
		s->first = 0;
		break;
	case KEY_END:
		s->first = s->table.nr_rows;
		break;
	default:
		break;
	}
}

static void screen_take_key(struct screen *s, int key)
{
	size_t view = s->top->view;
	bool helped = s->help;

	s->help = false;
	if (key >= '1' && key < '1' + KF_TOP_VIEWS)
		set_view(s, (size_t)(key - '1'));
	else if (key == '\t')
		set_view(s, (view + 1) % KF_TOP_VIEWS);
	else if (key == KEY_BTAB)
		set_view(s, (view + KF_TOP_VIEWS - 1) % KF_TOP_VIEWS);
	else if (key == '<' || key == KEY_LEFT)
		move_sort(s, -1);
	else if (key == '>' || key == KEY_RIGHT)
		move_sort(s, 1);
	else if (key == 'r')
		s->turned = !s->turned;
	else if (key == ' ')
		s->frozen = !s->frozen;
	else if (key == 'h' || key == '?')
		s->help = !helped;
	else if (key == 'q')
		s->done = true;
	else
		take_scroll(s, key);
}

static void screen_look(struct screen *s)
{
	s->next_ns = screen_now_ns() + (uint64_t)(s->top->interval * 1e9);
	if (s->frozen)
		return;
	s->status = kf_top_look(s->top);
	s->done = s->status != 0;
	if (!s->done)
		screen_make_table(s);
}

/* Returns whether the terminal has gone. */
static bool wait_key(const struct screen *s, const sigset_t *open)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	uint64_t now = screen_now_ns(), left = 0;
	struct timespec ts;

	if (s->next_ns > now)
		left = s->next_ns - now;
	ts.tv_sec = (time_t)(left / 1000000000);
	ts.tv_nsec = (long)(left % 1000000000);
	if (ppoll(&in, 1, &ts, open) < 0)
		return errno != EINTR;
	return in.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static void screen_loop(struct screen *s, const sigset_t *open)
{
	int key;

	screen_make_table(s);
	s->next_ns = screen_now_ns() + (uint64_t)(s->top->interval * 1e9);
	while (!s->done && !screen_caught) {
		screen_draw(s);
		if (wait_key(s, open))
			break;
		while (!s->done && (key = getch()) != ERR)
			screen_take_key(s, key);
		if (!s->done && screen_now_ns() >= s->next_ns)
			screen_look(s);
	}
	kf_table_release(&s->table);
}

static SCREEN *screen_begin(void)
{
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal)
		return NULL;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(KF_MARK_WARN, COLOR_YELLOW, -1);
		init_pair(KF_MARK_BAD, COLOR_RED, -1);
	}
	return terminal;
}

/* Replaces the handlers of ncurses, which exit at any time. */
static void catch_signals(sigset_t *open)
{
	struct sigaction act = {.sa_handler = screen_on_signal};
	sigset_t shut;

	sigemptyset(&shut);
	sigaddset(&shut, SIGWINCH);
	for (size_t i = 0; i < KF_ARRAY_SIZE(screen_ending); i++) {
		sigaddset(&shut, screen_ending[i]);
		sigaction(screen_ending[i], &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &shut, open);
}

/* Ends with the default action of the signal, for the exit status. */
static void end_by(int sig, const sigset_t *open)
{
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_SETMASK, open, NULL);
}

/* Restores the terminal if the program exits, for example out of memory. */
static void screen_restore(void)
{
	if (!isendwin())
		endwin();
}

int kf_top_screen(struct kf_top *t)
{
	struct screen s = {.top = t};
	SCREEN *terminal = screen_begin();
	sigset_t open;

	if (!terminal) {
		kf_error("top: unknown terminal type '%s': set TERM, or print "
			 "a table with --batch=1",
			 getenv("TERM") ? getenv("TERM") : "");
		return KF_EXIT_FAILED;
	}
	atexit(screen_restore);
	catch_signals(&open);
	screen_loop(&s, &open);
	endwin();
	if (screen_caught)
		end_by(screen_caught, &open);
	return s.status;
}
