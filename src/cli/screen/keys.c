/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The keys and the mouse of konfiscator top.
 */
#include "config.h"

#include "cli/screen/calls.h"
#include "cli/screen/screen.h"

#include <curses.h>
#include <string.h>

#define KEY_ESCAPE 27
#define KEY_DELETE 127
#define WHEEL_ROWS 3

static void keys_set_view(struct kf_screen *s, size_t view)
{
	s->top->view = view;
	s->top->sort = -1;
	s->turned = false;
	s->at = s->first = 0;
	s->pid = 0;
	s->stack = 0;
	s->calls = false;
	kf_screen_make(s);
}

static void keys_move_sort(struct kf_screen *s, int step)
{
	int nr = (int)s->table.nr_columns, column = s->sorted + step;

	while (column >= 0 && column < nr && !s->table.columns[column].head)
		column += step;
	if (column < 0 || column >= nr)
		return;
	s->top->sort = column;
	kf_screen_make(s);
}

static void keys_add(size_t *at, long step)
{
	if (step < 0 && *at < (size_t)-step)
		*at = 0;
	else
		*at += (size_t)step;
}

/* The row that is selected, or the first call of a stack. */
static void keys_move(struct kf_screen *s, int key)
{
	size_t *at = s->stack ? &s->call : &s->at;
	size_t nr = s->stack ? kf_top_calls(s->stack) : s->nr_rows;
	long page = (long)kf_screen_room();

	switch (key) {
	case KEY_UP:
		keys_add(at, -1);
		break;
	case KEY_DOWN:
		keys_add(at, 1);
		break;
	case KEY_PPAGE:
		keys_add(at, -page);
		break;
	case KEY_NPAGE:
		keys_add(at, page);
		break;
	case KEY_HOME:
		*at = 0;
		break;
	case KEY_END:
		*at = nr;
		break;
	default:
		break;
	}
	*at = nr ? KF_MIN(*at, nr - 1) : 0;
}

static const struct kf_cell *keys_cell(const struct kf_screen *s,
				       const char *key)
{
	int column = kf_screen_column(&s->table, key);

	if (column < 0 || s->at >= s->nr_rows)
		return NULL;
	return &s->table.cells[s->rows[s->at] * s->table.nr_columns +
			       (size_t)column];
}

static void keys_open_call(struct kf_screen *s, bool open)
{
	const struct kf_cell *call = keys_cell(s, "call");

	if (!call)
		return;
	kf_calls_open(call->count, open);
	kf_screen_make(s);
}

static void keys_select_caller(struct kf_screen *s)
{
	const struct kf_cell *above = keys_cell(s, "above");
	size_t was = s->at;

	if (!above)
		return;
	do {
		if (!s->at) {
			s->at = was;
			return;
		}
		s->at--;
	} while (keys_cell(s, "call")->count != above->count);
}

/* Right opens a call and goes on to the one below; left closes it and goes
 * back.
 */
static void keys_walk_calls(struct kf_screen *s, bool on)
{
	const struct kf_cell *state = keys_cell(s, "state");

	if (!state)
		return;
	if (state->count == (on ? KF_CALL_CLOSED : KF_CALL_OPEN))
		keys_open_call(s, on);
	else if (!on)
		keys_select_caller(s);
	else if (state->count == KF_CALL_OPEN)
		keys_move(s, KEY_DOWN);
}

/*
 * A process or thread leads to the sites of the process, a site to its stack. A
 * call is opened or closed.
 */
static void keys_open(struct kf_screen *s)
{
	const struct kf_cell *stack = keys_cell(s, "key");
	const struct kf_cell *pid = keys_cell(s, "pid");
	const struct kf_cell *state = keys_cell(s, "state");
	int32_t of = pid ? (int32_t)pid->count : 0;

	if (s->stack)
		return;
	if (state)
		keys_open_call(s, state->count == KF_CALL_CLOSED);
	else if (stack && kf_top_calls(stack->count)) {
		s->stack = stack->count;
		s->call = 0;
	} else if (!stack && pid) {
		s->filter[0] = '\0';
		keys_set_view(s, KF_TOP_SITES);
		s->pid = of;
		kf_screen_make(s);
	}
}

/* Sites become a tree of calls, processes a tree, and back. */
static void keys_turn_tree(struct kf_screen *s)
{
	if (s->stack)
		return;
	if (s->top->view != KF_TOP_SITES) {
		s->tree = !s->tree;
	} else {
		s->calls = !s->calls;
		s->at = s->first = 0;
	}
	kf_screen_make(s);
}

static void keys_go_back(struct kf_screen *s)
{
	if (s->stack) {
		s->stack = 0;
	} else if (s->filter[0]) {
		s->filter[0] = '\0';
		kf_screen_make(s);
	} else if (kf_screen_shows_calls(s)) {
		keys_turn_tree(s);
	} else if (s->pid) {
		keys_set_view(s, KF_TOP_PROCESSES);
	}
}

/* Takes the last character away, with all of its bytes. */
static void keys_shorten(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len ? len - 1 : 0] = '\0';
}

static void keys_type(struct kf_screen *s, int key)
{
	size_t len = strlen(s->filter);

	if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		s->typing = false;
	} else if (key == KEY_ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') {
		keys_shorten(s->filter);
	} else if (key >= ' ' && key <= 0xff && len + 1 < KF_FILTER_SIZE) {
		s->filter[len] = (char)key;
		s->filter[len + 1] = '\0';
	}
	s->at = s->first = 0;
	kf_screen_make(s);
}

static void keys_click_head(struct kf_screen *s, int column)
{
	if (kf_screen_shows_calls(s))
		return;
	if (column == s->sorted)
		s->turned = !s->turned;
	s->top->sort = column;
	kf_screen_make(s);
}

static void keys_click(struct kf_screen *s, int y, int x)
{
	size_t index;

	switch (kf_screen_find(s, y, x, &index)) {
	case KF_SCREEN_VIEW:
		keys_set_view(s, index);
		break;
	case KF_SCREEN_HEAD:
		keys_click_head(s, (int)index);
		break;
	case KF_SCREEN_ROW:
		if (index == s->at)
			keys_open(s);
		else
			s->at = index;
		break;
	default:
		break;
	}
}

static void keys_mouse(struct kf_screen *s)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return;
	if (event.bstate & BUTTON1_PRESSED)
		keys_click(s, event.y, event.x);
	for (int i = 0; i < WHEEL_ROWS; i++) {
		if (event.bstate & BUTTON4_PRESSED)
			keys_move(s, KEY_UP);
		if (event.bstate & BUTTON5_PRESSED)
			keys_move(s, KEY_DOWN);
	}
}

static bool keys_take_view(struct kf_screen *s, int key)
{
	size_t view = s->top->view;

	if (key >= '1' && key < '1' + KF_TOP_VIEWS)
		view = (size_t)(key - '1');
	else if (key == '\t')
		view = (view + 1) % KF_TOP_VIEWS;
	else if (key == KEY_BTAB)
		view = (view + KF_TOP_VIEWS - 1) % KF_TOP_VIEWS;
	else
		return false;
	keys_set_view(s, view);
	return true;
}

static void keys_take_order(struct kf_screen *s, int key)
{
	if (kf_screen_shows_calls(s)) {
		if (key != 'r')
			keys_walk_calls(s, key == '>' || key == KEY_RIGHT);
		return;
	}
	if (key == '<' || key == KEY_LEFT)
		keys_move_sort(s, -1);
	else if (key == '>' || key == KEY_RIGHT)
		keys_move_sort(s, 1);
	else if (key == 'r')
		s->turned = !s->turned;
	kf_screen_make(s);
}

static void keys_take(struct kf_screen *s, int key)
{
	switch (key) {
	case ' ':
		s->paused = !s->paused;
		break;
	case 'h':
	case '?':
		s->help = true;
		break;
	case 'q':
		s->done = true;
		break;
	case '/':
		s->typing = !s->stack;
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
		keys_open(s);
		break;
	case KEY_ESCAPE:
	case KEY_BACKSPACE:
	case KEY_DELETE:
	case '\b':
		keys_go_back(s);
		break;
	case '<':
	case '>':
	case KEY_LEFT:
	case KEY_RIGHT:
	case 'r':
		keys_take_order(s, key);
		break;
	case 't':
		keys_turn_tree(s);
		break;
	default:
		keys_move(s, key);
	}
}

void kf_screen_take_key(struct kf_screen *s, int key)
{
	if (key == KEY_RESIZE)
		kf_screen_make(s); /* anew, without the cuts */
	else if (key == KEY_MOUSE)
		keys_mouse(s);
	else if (s->typing)
		keys_type(s, key);
	else if (s->help)
		s->help = false;
	else if (!keys_take_view(s, key))
		keys_take(s, key);
}
