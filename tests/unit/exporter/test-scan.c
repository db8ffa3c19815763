/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * groups/scan.c: what is known of files stays where there is no time to read
 * them; names come out clean.
 */
#include "config.h"

#include "exporter/buf.h"
#include "exporter/groups/groups.h"
#include "exporter/trace/trace.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static struct kf_groups groups;

/* The tracers' table is not of this. */
const char *kf_trace_known(const char *script)
{
	return script;
}

static void begin(void)
{
	static const char *dirs[] = {support_dir, NULL};
	const struct kf_groups_conf conf = {
		.dirs = dirs, .procfs = "/proc", .max = 10, .forget_s = 1000};

	ck_assert_int_eq(kf_groups_init(&groups, &conf), 0);
}

/* All that is counted under one name, by a scan in so many seconds. */
static const struct kf_group *scan(time_t seconds)
{
	struct timespec since, until;

	clock_gettime(CLOCK_MONOTONIC, &since);
	until = since;
	until.tv_sec += seconds;
	ck_assert_int_eq(kf_groups_scan(&groups, &since, &until), 0);
	ck_assert_ptr_nonnull(groups.groups);
	ck_assert_ptr_null(groups.groups->next);
	return groups.groups;
}

START_TEST(files_without_time_keep_what_they_said)
{
	const struct kf_group *group;
	struct fixture f;
	char name[16];

	support_begin();
	begin();
	fixture_make(&f, 1);
	f.slots[0].class[1].mallocs = 5;
	f.slots[0].class[1].frees = 2;
	for (unsigned int i = 0; i < 10; i++) {
		/* whether it lives cannot be told */
		f.id->start_ticks = 0;
		snprintf(name, sizeof(name), "%u", i);
		support_write(&f, name);
	}
	group = scan(1000);
	ck_assert_uint_eq(group->now[KF_FIG_MALLOCS], 50);
	ck_assert_uint_eq(group->now[KF_FIG_LIVE_BLOCKS], 30);
	ck_assert_uint_eq(group->processes, 10);
	ck_assert_uint_eq(groups.files[KF_READ_OK], 10);

	group = scan(0);
	ck_assert_uint_eq(groups.files[KF_READ_LATE], 10);
	ck_assert_uint_eq(group->now[KF_FIG_MALLOCS], 50);
	ck_assert_uint_eq(group->now[KF_FIG_LIVE_BLOCKS], 30);
	ck_assert_uint_eq(group->processes, 10);

	f.slots[0].class[1].mallocs = 6;
	support_write(&f, "9");
	group = scan(1000);
	ck_assert_uint_eq(groups.files[KF_READ_LATE], 0);
	ck_assert_uint_eq(group->now[KF_FIG_MALLOCS], 51);
	ck_assert_uint_eq(group->processes, 10);
	kf_groups_finish(&groups);
	fixture_free(&f);
}
END_TEST

/* Labels and pages are read on terminals and in browsers. */
START_TEST(labels_have_no_controls)
{
	char text[64];

	ck_assert_str_eq(kf_utf8_clean(text, sizeof(text),
				       "a\033\xc2\x9b\xe2\x80\xae\xff"
				       "gr\xc3\xbc\xc3\x9f\n"),
			 "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			 "gr\xc3\xbc\xc3\x9f\n");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		labels_have_no_controls,
		files_without_time_keep_what_they_said,
	};

	return unit_run("exporter/groups/scan", tests, KF_ARRAY_SIZE(tests));
}
