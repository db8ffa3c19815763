/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/match.c: which lists are lists, and which names they mean.
 */
#include "base/match.h"

#include "base/compiler.h"

#include <string.h>

#include "tests/unit/unit.h"

static bool means(const char *list, const char *name)
{
	return kf_match(list, name, strlen(name));
}

START_TEST(names_are_matched_whole_or_by_their_begin)
{
	ck_assert(means("net", "net"));
	ck_assert(!means("net", "nets"));
	ck_assert(!means("net", "ne"));
	ck_assert(!means("net", "Net"));
	ck_assert(means("net*", "net"));
	ck_assert(means("net*", "network"));
	ck_assert(!means("net*", "ne"));
	ck_assert(means("*", "anything"));
	ck_assert(means("*", ""));
	ck_assert(!means("net", ""));
	ck_assert(kf_match("net", "network", 3));
}
END_TEST

START_TEST(last_pattern_that_matches_decides)
{
	ck_assert(means("+net*,-net.cache", "net.http"));
	ck_assert(!means("+net*,-net.cache", "net.cache"));
	ck_assert(means("+net*,-net.cache", "net.cache2"));
	ck_assert(means("-net.cache,+net*", "net.cache"));
	ck_assert(!means("-net", "other"));
	ck_assert(means("*,-a*,+ab*,-abc", "b"));
	ck_assert(!means("*,-a*,+ab*,-abc", "a"));
	ck_assert(means("*,-a*,+ab*,-abc", "abd"));
	ck_assert(!means("*,-a*,+ab*,-abc", "abc"));
}
END_TEST

START_TEST(patterns_have_commas_tabs_or_newlines_between)
{
	ck_assert(means("a\tb\nc,d", "a"));
	ck_assert(means("a\tb\nc,d", "b"));
	ck_assert(means("a\tb\nc,d", "c"));
	ck_assert(means("a\tb\nc,d", "d"));
	ck_assert(means(" +two words , x", "two words"));
	ck_assert(!means(" +two words , x", "two"));
	/* A sign behind the first is the name's. */
	ck_assert(means("--a,+-b", "-b"));
	ck_assert(!means("*,--a", "-a"));
}
END_TEST

START_TEST(what_is_no_list_is_refused)
{
	static const char *const good[] = {"a",	 "+a",	 "-a",	    "*",
					   "+*", "a,b*", " a , -b "};
	static const char *const bad[] = {"",	    "+",    "-", "a,",
					  ",a",	    "a,,b", " ", "a*b",
					  "a*,b*c", "**",   "+ "};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(kf_match_is_list(good[i]), "'%s'", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!kf_match_is_list(bad[i]), "'%s'", bad[i]);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		names_are_matched_whole_or_by_their_begin,
		last_pattern_that_matches_decides,
		patterns_have_commas_tabs_or_newlines_between,
		what_is_no_list_is_refused,
	};

	return unit_run("base/match", tests, KF_ARRAY_SIZE(tests));
}
