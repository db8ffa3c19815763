/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/calls.c: what is left of stacks, and which of them are one row.
 */
#include "config.h"

#include "reader/calls.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 32

/*
 * A stack of the functions in @text, the innermost first, with blanks between.
 * Python's begin with a dot; those of other libraries have the name before a
 * colon. A digit behind a slash is a line.
 */
static size_t stack_make(const char *text, struct kf_frame frame[ROOM],
			 const struct kf_frame *stack[ROOM])
{
	static char words[4096], libraries[ROOM][32];
	size_t nr = 0;
	char *save;

	snprintf(words, sizeof(words), "%s", text);
	for (char *word = strtok_r(words, " ", &save); word;
	     word = strtok_r(NULL, " ", &save), nr++) {
		char *colon = strchr(word, ':'), *slash = strchr(word, '/');

		snprintf(libraries[nr], sizeof(libraries[nr]), "%.*s",
			 colon ? (int)(colon - word) : 7,
			 colon ? word : "program");
		frame[nr] = (struct kf_frame){
			.address = word[0] == '.' ? KF_STATS_CALL | nr : nr,
			.library = libraries[nr],
			.function = colon ? colon + 1 : word,
			.line = slash ? (unsigned int)(slash[1] - '0') : 0,
		};
		if (slash)
			*slash = '\0';
		stack[nr] = &frame[nr];
	}
	return nr;
}

/* What is left, as text; '*' marks what stands for several calls. */
static const char *left_of(const char *text, unsigned int how)
{
	static char out[4096];
	struct kf_frame frame[ROOM];
	const struct kf_frame *stack[ROOM];
	bool recursive[ROOM];
	size_t nr = stack_make(text, frame, stack), len = 0;

	nr = kf_calls_simplify(stack, recursive, nr, how);
	out[0] = '\0';
	for (size_t i = 0; i < nr; i++)
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s%s",
					i ? " " : "", stack[i]->function,
					recursive[i] ? "*" : "");
	return out;
}

START_TEST(stacks_begin_after_wrappers_of_malloc)
{
	ck_assert_str_eq(left_of("xmalloc g_malloc f xmalloc main", 0),
			 "f xmalloc main");
	ck_assert_str_eq(left_of("libkonfiscator.so:f xmalloc main", 0),
			 "main");
	ck_assert_str_eq(left_of("xmalloc g_malloc", 0), "xmalloc g_malloc");
	ck_assert_str_eq(left_of("xmalloc f", KF_CALLS_RAW), "xmalloc f");
	ck_assert_str_eq(left_of("", 0), "");
}
END_TEST

START_TEST(stacks_begin_with_the_line_of_python)
{
	ck_assert_str_eq(
		left_of("PyMem_Malloc libpython3.so:new libc.so.6:q .f .g", 0),
		".f .g");
	ck_assert_str_eq(left_of("libz.so:g libpython3.so:new .f", 0),
			 "g new .f");
	ck_assert_str_eq(left_of("libpython3.so:new main", 0), "new main");
	ck_assert_str_eq(left_of("libpython3.so:new .f", KF_CALLS_RAW),
			 "new .f");
}
END_TEST

START_TEST(recursion_is_there_once)
{
	ck_assert_str_eq(left_of("f f f main", 0), "f* main");
	ck_assert_str_eq(left_of("f f f main", KF_CALLS_ALL), "f f f main");
	ck_assert_str_eq(left_of("a b a b a main", 0), "a b* a* main");
	ck_assert_str_eq(left_of("f g f main", 0), "f g f main");
	ck_assert_str_eq(left_of("f/1 f/2 f/2 main", 0), "f* main");
	ck_assert_str_eq(left_of("f/1 f/2 f/2 main", KF_CALLS_BY_LINE),
			 "f f* main");
}
END_TEST

START_TEST(functions_of_other_files_are_others)
{
	struct kf_frame frame[ROOM];
	const struct kf_frame *stack[ROOM];
	bool recursive[ROOM];
	size_t nr = stack_make("f f main", frame, stack);

	frame[0].file = "a.c";
	frame[1].file = "b.c";
	ck_assert_uint_eq(kf_calls_simplify(stack, recursive, nr, 0), 3);
}
END_TEST

START_TEST(marks_do_not_tell_texts_apart)
{
	char *text = strdup("a < b" KF_RECURSIVE " < c");

	ck_assert_int_eq(kf_calls_compare(text, "a < b < c"), 0);
	ck_assert_int_eq(kf_calls_compare("a < b < c", text), 0);
	ck_assert_int_lt(kf_calls_compare("a < b", text), 0);
	ck_assert_int_gt(kf_calls_compare("a < c", text), 0);
	ck_assert(kf_calls_mark(&text, "a < b < c" KF_RECURSIVE));
	ck_assert_str_eq(text, "a < b" KF_RECURSIVE " < c" KF_RECURSIVE);
	ck_assert(kf_calls_mark(&text, "a < b < c"));
	ck_assert_str_eq(text, "a < b" KF_RECURSIVE " < c" KF_RECURSIVE);
	free(text);
}
END_TEST

START_TEST(rows_that_read_alike_are_added_up)
{
	struct kf_calls_row row[] = {
		{strdup("f < main"), {10, 1}, 1},
		{strdup("g < main"), {15, 2}, 2},
		{strdup("f" KF_RECURSIVE " < main"), {20, 4}, 4},
	};
	size_t nr = KF_ARRAY_SIZE(row);

	ck_assert(kf_calls_join(row, &nr));
	ck_assert_uint_eq(nr, 2);
	ck_assert_str_eq(row[0].shown, "f" KF_RECURSIVE " < main");
	ck_assert_double_eq(row[0].value.value, 30);
	ck_assert_double_eq(row[0].value.variance, 5);
	ck_assert_uint_eq(row[0].samples, 5);
	ck_assert_str_eq(row[1].shown, "g < main");
	free(row[0].shown);
	free(row[1].shown);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		stacks_begin_after_wrappers_of_malloc,
		stacks_begin_with_the_line_of_python,
		recursion_is_there_once,
		functions_of_other_files_are_others,
		marks_do_not_tell_texts_apart,
		rows_that_read_alike_are_added_up,
	};

	return unit_run("reader/calls", tests, KF_ARRAY_SIZE(tests));
}
