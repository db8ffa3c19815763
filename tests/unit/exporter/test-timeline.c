/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/site/timeline.c and html.c: lines over gaps in what is known.
 */
#include "config.h"

#include "exporter/site/html.h"
#include "exporter/site/timeline.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kf_past past;

/* Scans at intervals of so many seconds, each with 1000 bytes. */
static void scans(unsigned int nr, const unsigned int *seconds)
{
	past.nr = 1;
	past.ms[0] = 1000000;
	past.held[0] = 1000;
	for (unsigned int i = 0; i < nr; i++, past.nr++) {
		past.ms[past.nr] = past.ms[past.nr - 1] + 1000 * seconds[i];
		past.held[past.nr] = 1000;
	}
}

static unsigned int lines_drawn(void)
{
	struct kf_buf out = {0};
	unsigned int nr = 0;

	kf_html_spark(&out, past.ms, past.held, past.nr, kf_past_gap_ms(&past));
	for (const char *p = out.data; p && (p = strstr(p, "<polyline")); p++)
		nr++;
	free(out.data);
	return nr;
}

START_TEST(scans_at_an_interval_are_one_line)
{
	const unsigned int often[] = {4, 5, 4, 6, 80, 4};
	const unsigned int seldom[] = {300, 300, 301, 600, 300};

	scans(KF_ARRAY_SIZE(often), often);
	ck_assert_uint_eq(lines_drawn(), 1);
	scans(KF_ARRAY_SIZE(seldom), seldom);
	ck_assert_uint_eq(kf_past_gap_ms(&past), 900000);
	ck_assert_uint_eq(lines_drawn(), 1);
}
END_TEST

START_TEST(nothing_joins_two_looks_six_minutes_apart)
{
	const unsigned int looks[] = {5, 5, 360, 5, 5};

	scans(KF_ARRAY_SIZE(looks), looks);
	ck_assert_uint_eq(kf_past_gap_ms(&past), 90000);
	ck_assert_uint_eq(lines_drawn(), 2);
}
END_TEST

START_TEST(value_that_is_not_known_ends_a_line)
{
	const unsigned int often[] = {5, 5, 5, 5, 5};

	scans(KF_ARRAY_SIZE(often), often);
	past.held[3] = NAN;
	ck_assert_uint_eq(lines_drawn(), 2);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		scans_at_an_interval_are_one_line,
		nothing_joins_two_looks_six_minutes_apart,
		value_that_is_not_known_ends_a_line,
	};

	return unit_run("exporter/site/timeline", tests, KF_ARRAY_SIZE(tests));
}
