/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/reports.c: the first reports that differ are kept, others are counted.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "stats/report.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

static const struct kf_stats_report *in_file(char **bytes)
{
	size_t size;
	const struct kf_stats_header *h;

	*bytes = support_read(kf_stats_path(), &size);
	h = (const void *)*bytes;
	UNIT_REQUIRE(h->minor >= 10 && h->reports.nr == KF_STATS_REPORTS &&
		     h->reports.entry_size == sizeof(struct kf_stats_report));
	return (const void *)(*bytes + h->reports.offset);
}

static void put(uint32_t kind, uint32_t stack)
{
	const struct kf_stats_report r = {
		.address = 1000,
		.block = 900,
		.bytes = 64,
		.kind = kind,
		.how = KF_REPORT_READ,
		.by = {{1, stack}, {2, 20}, {3, 30}},
	};

	kf_reports_put(&r);
}

START_TEST(alike_reports_are_counted)
{
	const struct kf_stats_report *r;
	char *bytes;

	support_publish();
	put(KF_GUARDED_AFTER_FREE, 10);
	put(KF_GUARDED_AFTER_FREE, 11);
	put(KF_GUARDED_OVERFLOW, 10);
	put(KF_GUARDED_AFTER_FREE, 10);
	r = in_file(&bytes);
	UNIT_REQUIRE(r[0].time && r[0].times == 2 && r[0].by[0].stack == 10);
	UNIT_REQUIRE(r[0].address == 1000 && r[0].by[2].tid == 3);
	UNIT_REQUIRE(r[1].times == 1 && r[1].by[0].stack == 11);
	UNIT_REQUIRE(r[2].kind == KF_GUARDED_OVERFLOW && r[2].times == 1);
	UNIT_REQUIRE(!r[3].time);
	free(bytes);
}
END_TEST

START_TEST(only_the_first_are_kept)
{
	const struct kf_stats_report *r;
	char *bytes;

	support_publish();
	for (uint32_t i = 1; i <= KF_STATS_REPORTS + 3; i++)
		put(KF_GUARDED_UNDERFLOW, i);
	/* What others write into the file decides nothing. */
	memset(kf_stats.base + KF_AT_REPORTS, 0xff, sizeof(*r));
	put(KF_GUARDED_UNDERFLOW, 1);
	r = in_file(&bytes);
	UNIT_REQUIRE(r[0].times == 2 && r[0].kind == UINT32_MAX);
	UNIT_REQUIRE(r[KF_STATS_REPORTS - 1].by[0].stack == KF_STATS_REPORTS);
	free(bytes);
	kf_reports_restart();
	put(KF_GUARDED_WILD, 5);
	r = in_file(&bytes);
	UNIT_REQUIRE(r[0].kind == KF_GUARDED_WILD && r[0].times == 1);
	UNIT_REQUIRE(!r[1].time);
	free(bytes);
}
END_TEST

static bool reads(const struct kf_stats_report *r, const char *wanted)
{
	char line[256];
	struct kf_text text;

	kf_text_init(&text, line, sizeof(line));
	kf_report_headline(&text, r);
	return !strcmp(line, wanted);
}

START_TEST(line_says_what_and_where)
{
	struct kf_stats_report r = {
		.address = 0x1008,
		.block = 0x1000,
		.bytes = 16,
		.kind = KF_GUARDED_AFTER_FREE,
		.how = KF_REPORT_WRITE,
		.by = {{42, 0}},
	};

	UNIT_REQUIRE(reads(
		&r,
		"use after free: write to 0x1008, 8 bytes inside the block 0x1000 of 16 bytes, thread 42"));
	r.address = 0x1010;
	r.how = KF_REPORT_READ;
	r.kind = KF_GUARDED_OVERFLOW;
	UNIT_REQUIRE(reads(
		&r,
		"overflow: read of 0x1010, 0 bytes behind the block 0x1000 of 16 bytes, thread 42"));
	r.address = 0xfff;
	r.how = 0;
	r.kind = KF_GUARDED_INVALID_FREE;
	UNIT_REQUIRE(reads(
		&r,
		"invalid free at 0xfff, 1 bytes before the block 0x1000 of 16 bytes, thread 42"));
	r.block = 0;
	UNIT_REQUIRE(reads(&r, "invalid free at 0xfff, thread 42"));
	UNIT_REQUIRE(!kf_report_words(KF_GUARDED_NR_FAULTS));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		alike_reports_are_counted,
		only_the_first_are_kept,
		line_says_what_and_where,
	};

	return unit_run("stats/reports", tests, KF_ARRAY_SIZE(tests));
}
