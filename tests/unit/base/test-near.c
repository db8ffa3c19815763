/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/near.c: which name is meant.
 */
#include "base/near.h"

#include <string.h>

#include "tests/unit/unit.h"

static const char *const names[] = {"stat",
				    "explain",
				    "report",
				    "record",
				    "KONFISCATOR_SAMPLE",
				    "KONFISCATOR_STACKS"};

static const char *meant(const char *typed)
{
	struct kf_near near = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		kf_near_look(&near, typed, strlen(typed), names[i]);
	return near.name ? near.name : "";
}

START_TEST(typing_errors_are_near)
{
	ck_assert_str_eq(meant("stt"), "stat");
	ck_assert_str_eq(meant("sttat"), "stat");
	ck_assert_str_eq(meant("start"), "stat");
	ck_assert_str_eq(meant("stau"), "stat");
	ck_assert_str_eq(meant("tsat"), "stat");
	ck_assert_str_eq(meant("explian"), "explain");
	ck_assert_str_eq(meant("explains"), "explain");
	ck_assert_str_eq(meant("reprot"), "report");
	ck_assert_str_eq(meant("recrod"), "record");
	ck_assert_str_eq(meant("KONFISCATOR_SMAPLE"), "KONFISCATOR_SAMPLE");
	ck_assert_str_eq(meant("KONFISCATOR_STACK"), "KONFISCATOR_STACKS");
}
END_TEST

START_TEST(other_words_are_not)
{
	ck_assert_str_eq(meant(""), "");
	ck_assert_str_eq(meant("st"), "");
	ck_assert_str_eq(meant("help"), "");
	ck_assert_str_eq(meant("restart"), "");
	ck_assert_str_eq(meant("KONFISCATOR_NOTHING"), "");
	ck_assert_str_eq(meant("a name that is far longer than any name of an "
			       "option or of a command"),
			 "");
}
END_TEST

START_TEST(the_nearest_one_counts_and_of_equals_the_first)
{
	struct kf_near near = {0};

	kf_near_look(&near, "records", 6, "report");
	kf_near_look(&near, "records", 6, "record");
	ck_assert_str_eq(near.name, "record");
	ck_assert_uint_eq(near.distance, 0);
	kf_near_look(&near, "records", 7, "record");
	ck_assert_uint_eq(near.distance, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		typing_errors_are_near,
		other_words_are_not,
		the_nearest_one_counts_and_of_equals_the_first,
	};

	return unit_run("base/near", tests, sizeof(tests) / sizeof(*tests));
}
