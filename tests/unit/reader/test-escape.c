/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/escape.c: names that anyone may choose.
 */
#include "config.h"

#include "reader/reader.h"
#include "tests/unit/unit.h"

#include <string.h>

static const char *escaped(const char *s)
{
	static char buf[256];

	return kf_escape(buf, sizeof(buf), s);
}

START_TEST(plain_text_stays)
{
	ck_assert_str_eq(escaped(""), "");
	ck_assert_str_eq(escaped("redis-server *:6379"), "redis-server *:6379");
	ck_assert_str_eq(escaped("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
	ck_assert_str_eq(escaped("\xf0\x9f\x90\x8d"), "\xf0\x9f\x90\x8d");
}
END_TEST

START_TEST(control_bytes_are_escaped)
{
	ck_assert_str_eq(escaped("a\nb"), "a\\x0ab");
	ck_assert_str_eq(escaped("\033[31m"), "\\x1b[31m");
	ck_assert_str_eq(escaped("\x7f"), "\\x7f");
	/* U+009B is a terminal's escape as well */
	ck_assert_str_eq(escaped("\xc2\x9b"), "\\xc2\\x9b");
	/* U+202E turns the rest of the line around */
	ck_assert_str_eq(escaped("\xe2\x80\xae"), "\\xe2\\x80\\xae");
	/* U+2067 and U+061C do it too; U+FEFF is not seen */
	ck_assert_str_eq(escaped("\xe2\x81\xa7"), "\\xe2\\x81\\xa7");
	ck_assert_str_eq(escaped("\xd8\x9c"), "\\xd8\\x9c");
	ck_assert_str_eq(escaped("\xef\xbb\xbf"), "\\xef\\xbb\\xbf");
	/* what joins the letters of some scripts stays */
	ck_assert_str_eq(escaped("a\xe2\x80\x8d"
				 "b"),
			 "a\xe2\x80\x8d"
			 "b");
}
END_TEST

START_TEST(invalid_utf8_is_escaped)
{
	ck_assert_str_eq(escaped("\xff"), "\\xff");
	ck_assert_str_eq(escaped("a\xc3"), "a\\xc3");
	ck_assert_str_eq(escaped("\xc0\x80"), "\\xc0\\x80");
	ck_assert_str_eq(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	ck_assert_str_eq(escaped("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
	ck_assert_str_eq(escaped("\xe2\x82"), "\\xe2\\x82");
}
END_TEST

START_TEST(nothing_is_cut_in_the_middle)
{
	char buf[6];

	ck_assert_str_eq(kf_escape(buf, 6, "abcdefgh"), "abcde");
	ck_assert_str_eq(kf_escape(buf, 6, "abcd\xc3\xbc"), "abcd");
	ck_assert_str_eq(kf_escape(buf, 6, "ab\n"), "ab");
	ck_assert_str_eq(kf_escape(buf, 6, "a\n"), "a\\x0a");
	ck_assert_str_eq(kf_escape(buf, 1, "a"), "");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		plain_text_stays,
		control_bytes_are_escaped,
		invalid_utf8_is_escaped,
		nothing_is_cut_in_the_middle,
	};

	return unit_run("reader/escape", tests, KF_ARRAY_SIZE(tests));
}
