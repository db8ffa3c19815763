/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Function names that are cut to the width of a terminal.
 */
#include "config.h"

#include "base/text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "reader/function-name.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define BETWEEN " < "	/* between the calls of a stack */
#define LEAST_NAME 24	/* columns of a name in a stack */
#define LEAST_COLUMN 20 /* columns of a column of names */
#define GOOD_COLUMN 32	/* the same, while there are spare columns beside it */

static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static const char *fit_ellipsis(void)
{
	return is_utf8() ? "\342\200\246" : "...";
}

/* The columns of the first character of @text, and its bytes. */
static int character_width(const char *text, size_t *bytes)
{
	uint32_t code = 0;
	int width = 1;

	*bytes = kf_utf8_decode(text, &code);
	if (!*bytes)
		*bytes = 1;
	else if (is_utf8())
		width = wcwidth((wchar_t)code);
	else
		width = (int)*bytes;
	return KF_MAX(width, 0);
}

/* The bytes of the first characters of @text that fit into @room columns. */
static size_t fit_head(const char *text, int room)
{
	size_t at = 0, bytes;

	while (text[at]) {
		room -= character_width(text + at, &bytes);
		if (room < 0)
			break;
		at += bytes;
	}
	return at;
}

/* Where the last characters of @text begin that fit into @room columns. */
static const char *fit_tail(const char *text, int room)
{
	int over = kf_text_width(text) - room;
	size_t bytes;

	while (*text && over > 0) {
		over -= character_width(text, &bytes);
		text += bytes;
	}
	return text;
}

static char *cut_name(const char *name, int room)
{
	const char *ellipsis = fit_ellipsis();
	int left = room - kf_text_width(ellipsis);
	int head = left - left / 2;

	if (kf_text_width(name) <= room)
		return kf_format("%s", name);
	if (left < 2)
		return kf_format("%.*s", (int)fit_head(name, room), name);
	return kf_format("%.*s%s%s", (int)fit_head(name, head), name, ellipsis,
			 fit_tail(name, left / 2));
}

/* The stack with each name cut to @most columns. */
static char *cut_names(const char *text, int most)
{
	char *all = kf_format("%s", "");

	while (text) {
		const char *next = strstr(text, BETWEEN);
		char *name =
			kf_format("%.*s", next ? (int)(next - text) : -1, text);
		char *cut = cut_name(name, most);
		char *more =
			kf_format("%s%s%s", all, all[0] ? BETWEEN : "", cut);

		free(name);
		free(cut);
		free(all);
		all = more;
		text = next ? next + strlen(BETWEEN) : NULL;
	}
	return all;
}

/* The innermost call alone: the others have no room. */
static char *cut_innermost(const char *stack, int room)
{
	const char *next = strstr(stack, BETWEEN);
	const char *rest = next ? BETWEEN : "";
	const char *more = next ? fit_ellipsis() : "";
	char *name = kf_format("%.*s", next ? (int)(next - stack) : -1, stack);
	char *cut = cut_name(name,
			     room - kf_text_width(rest) - kf_text_width(more));
	char *all = kf_format("%s%s%s", cut, rest, more);

	free(name);
	free(cut);
	return all;
}

/* Leaves out the outer calls that have no room; @text is @stack, cut. */
static char *cut_calls(const char *text, const char *stack, int room)
{
	int tail = kf_text_width(BETWEEN) + kf_text_width(fit_ellipsis());
	size_t fits = 0;

	for (const char *p = text; (p = strstr(p, BETWEEN)); p++) {
		char *head = kf_format("%.*s", (int)(p - text), text);

		if (kf_text_width(head) + tail <= room)
			fits = (size_t)(p - text);
		free(head);
	}
	if (!fits)
		return cut_innermost(stack, room);
	return kf_format("%.*s%s%s", (int)fits, text, BETWEEN, fit_ellipsis());
}

static char *fit_stack(const char *text, int room)
{
	int low = LEAST_NAME, high = KF_MAX(room, LEAST_NAME);
	char *best = cut_names(text, low), *cut;

	if (kf_text_width(best) > room) {
		cut = cut_calls(best, text, room);
		free(best);
		return cut;
	}
	while (low < high) {
		int mid = low + (high - low + 1) / 2;

		cut = cut_names(text, mid);
		if (kf_text_width(cut) > room) {
			high = mid - 1;
			free(cut);
			continue;
		}
		low = mid;
		free(best);
		best = cut;
	}
	return best;
}

char *kf_names_fold(const char *text)
{
	char *folded = kf_function_fold(text, fit_ellipsis());

	return folded ? folded : kf_format("%s", text);
}

char *kf_names_fit(const char *text, int room)
{
	size_t blanks = strspn(text, " ");
	int indent = (int)KF_MIN(blanks, (size_t)room / 2);
	char *cut, *fit;

	if (kf_text_width(text) <= room)
		return kf_format("%s", text);
	cut = fit_stack(text + blanks, room - indent);
	fit = kf_format("%*s%s", indent, "", cut);
	free(cut);
	return fit;
}

static void column_change(struct kf_table *t, size_t column, int room)
{
	for (size_t row = 0; row < t->nr_rows; row++) {
		struct kf_cell *c = &t->cells[row * t->nr_columns + column];
		char *text;

		if (!c->text)
			continue;
		text = room ? kf_names_fit(c->text, room)
			    : kf_names_fold(c->text);
		free(c->text);
		c->text = text;
	}
}

/* The columns that are left for names, beside all others; and their number. */
static int room_for_names(const struct kf_table *t, const int *width, int room,
			  int *nr)
{
	*nr = 0;
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].head)
			continue;
		if (t->columns[i].names)
			++*nr;
		else
			room -= width[i] + KF_TABLE_GAP;
	}
	return room - KF_MAX(*nr - 1, 0) * KF_TABLE_GAP;
}

/* The columns that a row needs, with names that can be read. */
static int fit_needs(const struct kf_table *t, const int *width)
{
	int nr = 0, sum = 0;

	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].head)
			continue;
		sum += t->columns[i].names ? KF_MIN(width[i], GOOD_COLUMN)
					   : width[i];
		nr++;
	}
	return sum + KF_MAX(nr - 1, 0) * KF_TABLE_GAP;
}

static bool column_is_empty(const struct kf_table *t, size_t column)
{
	char buf[KF_CELL_SIZE];

	for (size_t row = 0; row < t->nr_rows; row++) {
		if (strcmp(kf_table_text(t, row, column, buf, false), "-") != 0)
			return false;
	}
	return t->nr_rows;
}

/* The column to be left out first; NULL: none. */
static struct kf_column *fit_sparest(const struct kf_table *t)
{
	struct kf_column *found = NULL;

	for (size_t i = 0; i < t->nr_columns; i++) {
		struct kf_column *c = &t->fitting[i];

		if (!c->head)
			continue;
		if (column_is_empty(t, i))
			return c;
		if (c->spare && (!found || c->spare < found->spare))
			found = c;
	}
	return found;
}

static void fit_leave_out(struct kf_table *t, const struct kf_cli *cli,
			  const int *width, int room)
{
	static bool told;
	struct kf_column *c;
	int nr = 0;

	t->fitting = kf_alloc(t->nr_columns, sizeof(*t->fitting));
	memcpy(t->fitting, t->columns, t->nr_columns * sizeof(*t->fitting));
	t->columns = t->fitting;
	while (fit_needs(t, width) > room && (c = fit_sparest(t))) {
		c->head = NULL;
		nr++;
	}
	if (nr && !told)
		kf_note(cli,
			"%s: the terminal has no room for %d column%s: "
			"| cat shows all",
			cli->command->name, nr, nr == 1 ? "" : "s");
	told |= nr > 0;
}

void kf_table_fit(struct kf_table *t, const struct kf_cli *cli, int room)
{
	int *width, nr, left, later = 0;

	if (cli->full_names)
		return;
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].names)
			column_change(t, i, 0);
	}
	width = kf_table_widths(t, cli);
	fit_leave_out(t, cli, width, room);
	left = room_for_names(t, width, room, &nr);
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].head && t->columns[i].names)
			later += width[i];
	}
	for (size_t i = 0; i < t->nr_columns; i++) {
		int share;

		if (!t->columns[i].head || !t->columns[i].names)
			continue;
		later -= width[i];
		/* of two columns the first has the name that matters most */
		share = nr > 1 ? left * 3 / 5 : left;
		share = KF_MAX(KF_MAX(share, left - later), LEAST_COLUMN);
		if (width[i] > share)
			column_change(t, i, share);
		left -= KF_MIN(width[i], share);
		nr--;
	}
	free(width);
}
