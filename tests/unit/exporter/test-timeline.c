/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/site/timeline.c and html.c: the ring of moments, and lines over gaps
 * in what is known.
 */
#include "config.h"

#include "exporter/site/html.h"
#include "exporter/site/timeline.h"
#include "exporter/trace/trace.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kf_past past;

/* The tracers' table is not of this. */
const char *kf_trace_known(const char *script)
{
	return script;
}

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
	const unsigned int often[] = {10, 11, 10, 9, 29, 10};
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
	ck_assert_uint_eq(kf_past_gap_ms(&past), 30000);
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

static struct kf_timelines noted;
static struct kf_groups groups;

/* A process of so many live bytes. */
static struct kf_member *process(const char *path, uint64_t live)
{
	struct kf_member *m = kf_member_get(&groups, path, 1);

	m->group = kf_group_get(&groups, "p", "");
	m->seen[KF_FIG_HEAP_LIVE] = live;
	m->group->processes++;
	m->group->now[KF_FIG_HEAP_LIVE] += live;
	return m;
}

static void begin(void)
{
	const struct kf_groups_conf conf = {
		.procfs = "/proc", .max = 500, .read_only = true};

	ck_assert_int_eq(kf_groups_init(&groups, &conf), 0);
	kf_timelines_init(&noted, &groups, 10);
}

static void end(void)
{
	kf_timelines_stop(&noted);
	kf_groups_finish(&groups);
}

START_TEST(line_is_known_while_its_process_is)
{
	struct kf_member *m;

	begin();
	process("/first", 100);
	kf_timelines_note(&noted, &groups, 1000);
	m = process("/second", 50);
	kf_timelines_note(&noted, &groups, 2000);
	m->gone = 1;
	kf_timelines_note(&noted, &groups, 500); /* the clock was set back */
	kf_timelines_get(&noted, kf_member_id(m), &past);
	ck_assert_uint_eq(past.nr, 3);
	ck_assert(isnan(past.held[0]) && isnan(past.held[2]));
	ck_assert_uint_eq((unsigned int)past.held[1], 50);
	ck_assert_uint_eq(past.ms[2], 2001);
	kf_timelines_get(&noted, KF_TIMELINE_ALL, &past);
	ck_assert_uint_eq((unsigned int)past.held[0], 100);
	ck_assert_uint_eq((unsigned int)past.held[2], 150);
	kf_timelines_get(&noted, kf_group_id(m->group), &past);
	ck_assert_uint_eq((unsigned int)kf_past_top(&past), 150);
	kf_timelines_get(&noted, 12345, &past);
	ck_assert_uint_eq(past.nr, 0);
	end();
}
END_TEST

START_TEST(oldest_moments_make_room)
{
	struct kf_member *m;

	begin();
	m = process("/only", 100);
	for (unsigned int i = 0; i < KF_NR_MOMENTS + 100; i++) {
		m->seen[KF_FIG_HEAP_LIVE] = i;
		kf_timelines_note(&noted, &groups, 1000 * i);
	}
	kf_timelines_get(&noted, kf_member_id(m), &past);
	ck_assert_uint_eq(past.nr, KF_NR_MOMENTS);
	for (unsigned int i = 0; i < past.nr; i++) {
		ck_assert_uint_eq((unsigned int)past.held[i], 100 + i);
		ck_assert_uint_eq(past.ms[i], 1000 * (100 + i));
	}
	end();
}
END_TEST

START_TEST(many_processes_have_a_shorter_history_in_bounded_memory)
{
	struct kf_member *m = NULL;
	char path[32];

	begin();
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		m = process(path, i);
	}
	for (unsigned int i = 0; i < KF_NR_MOMENTS; i++) {
		kf_timelines_note(&noted, &groups, 10000 * i);
		ck_assert_uint_le(noted.bytes, KF_MOMENTS_BYTES);
	}
	/* a quarter of an hour at ten seconds each */
	kf_timelines_get(&noted, kf_member_id(m), &past);
	ck_assert_uint_ge(past.nr, 90);
	ck_assert_uint_lt(past.nr, KF_NR_MOMENTS);
	for (m = groups.members[7]; m; m = m->next) {
		kf_timelines_get(&noted, kf_member_id(m), &past);
		ck_assert_uint_ge(past.nr, 90);
		ck_assert(!isnan(past.held[0]));
	}
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		line_is_known_while_its_process_is,
		oldest_moments_make_room,
		many_processes_have_a_shorter_history_in_bounded_memory,
		scans_at_an_interval_are_one_line,
		nothing_joins_two_looks_six_minutes_apart,
		value_that_is_not_known_ends_a_line,
	};

	return unit_run("exporter/site/timeline", tests, KF_ARRAY_SIZE(tests));
}
