/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/trace/page.c: a page of SystemTap's is taken whole or not at all,
 * and nothing that is on it makes a sum fall.
 */
#include "config.h"

#include "exporter/trace/trace.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define CALLS                                       \
	"# TYPE konfiscator_malloc_total counter\n" \
	"konfiscator_malloc_total{process=\"a\"} 7\n"
#define ASKED "# TYPE konfiscator_request_bytes histogram\n"
#define BUCKETS                                           \
	"konfiscator_request_bytes_bucket{le=\"7\"} 1\n"  \
	"konfiscator_request_bytes_bucket{le=\"15\"} 2\n" \
	"konfiscator_request_bytes_bucket{le=\"31\"} 2\n" \
	"konfiscator_request_bytes_bucket{le=\"+Inf\"} 4\n"
#define END                                    \
	"konfiscator_request_bytes_sum 8000\n" \
	"konfiscator_request_bytes_count 4\n"

static struct kf_trace_values values;
static uint64_t lines[KF_NR_TRACE_LINES];

static enum kf_trace_page take(const char *text)
{
	return kf_trace_take_page(&values, text, strlen(text), lines);
}

/* All that was ever counted of it. */
static uint64_t counted(enum kf_trace_metric_id metric, const char *event,
			unsigned int i)
{
	struct kf_trace_value *v = kf_trace_value(&values, metric, event);

	return v->before.count[i] + v->now.count[i];
}

static void begin(void)
{
	memset(&values, 0, sizeof(values));
	memset(lines, 0, sizeof(lines));
	values.script = KF_TRACE_PAGE;
	ck_assert_int_eq(take(CALLS ASKED BUCKETS END), KF_TRACE_PAGE_SAME);
}

static void nothing_changed(void)
{
	ck_assert_uint_eq(counted(KF_TRACE_EVENTS, "malloc", 0), 7);
	ck_assert_uint_eq(counted(KF_TRACE_SIZES, "request", 0), 2);
	ck_assert_uint_eq(counted(KF_TRACE_SIZES, "request", 1), 0);
	ck_assert_uint_eq(counted(KF_TRACE_SIZES, "request", 21), 2);
}

START_TEST(a_page_is_taken)
{
	begin();
	nothing_changed();
	ck_assert_uint_eq(
		kf_trace_value(&values, KF_TRACE_SIZES, "request")->now.sum,
		8000);
	ck_assert_uint_eq(lines[KF_TRACE_TAKEN], 7);
	ck_assert_uint_eq(lines[KF_TRACE_IGNORED], 2);
	ck_assert_uint_eq(lines[KF_TRACE_BAD], 0);
}
END_TEST

START_TEST(what_is_not_whole_is_not_taken)
{
	static const char page[] = CALLS ASKED BUCKETS END;
	size_t len;

	begin();
	for (len = 0; len < sizeof(page) - 1; len++) {
		/* one without a histogram is whole: another run's */
		if (len == strlen(CALLS ASKED))
			continue;
		ck_assert_int_eq(kf_trace_take_page(&values, page, len, lines),
				 KF_TRACE_PAGE_BAD);
		nothing_changed();
	}
	ck_assert_int_eq(take(page), KF_TRACE_PAGE_SAME);
	nothing_changed();
}
END_TEST

START_TEST(what_is_no_count_is_not_taken)
{
	static const char *const wrong[] = {
		"konfiscator_malloc_total{process=\"a\"} -8\n",
		"konfiscator_malloc_total{process=\"a\"} 8.5\n",
		"konfiscator_malloc_total{process=\"a\"} 1e3\n",
		"konfiscator_malloc_total{process=\"a\"} NaN\n",
		"konfiscator_malloc_total{process=\"a\"} \n",
		"konfiscator_malloc_total{process=\"a\"}\n",
		"konfiscator_malloc_total 2305843009213693952\n",
		"konfiscator_malloc_total 99999999999999999999999999999\n",
		"konfiscator_MALLOC_total 8\n",
		"konfiscator_a\xff_total 8\n",
		"konfiscator_a_name_that_is_far_too_long_for_an_event_total 8\n",
		" 8\n",
		"8\n",
		"konfiscator_request_bytes_bucket{le=\"63\"} 4\n",
		"konfiscator_request_bytes_bucket{le=\"+Inf\"} 4\n",
		"konfiscator_request_bytes_count 5\n",
	};
	char page[1024];
	size_t i;

	begin();
	for (i = 0; i < KF_ARRAY_SIZE(wrong); i++) {
		snprintf(page, sizeof(page), "%s%s", CALLS ASKED BUCKETS END,
			 wrong[i]);
		ck_assert_msg(take(page) == KF_TRACE_PAGE_BAD, "taken: %s",
			      wrong[i]);
		nothing_changed();
	}
	ck_assert_uint_eq(values.nr, 2);
}
END_TEST

START_TEST(buckets_rise)
{
	begin();
	ck_assert_int_eq(
		take(CALLS ASKED
		     "konfiscator_request_bytes_bucket{le=\"7\"} 5\n"
		     "konfiscator_request_bytes_bucket{le=\"+Inf\"} 4\n" END),
		KF_TRACE_PAGE_BAD);
	ck_assert_int_eq(
		take(CALLS ASKED
		     "konfiscator_request_bytes_bucket{le=\"many\"} 4\n"
		     "konfiscator_request_bytes_bucket{le=\"+Inf\"} 4\n" END),
		KF_TRACE_PAGE_BAD);
	ck_assert_int_eq(
		take(CALLS ASKED
		     "konfiscator_request_bytes_bucket{le=\"7\"} 4\n" END),
		KF_TRACE_PAGE_BAD);
	nothing_changed();
}
END_TEST

START_TEST(another_run_is_added)
{
	begin();
	ck_assert_int_eq(
		take("konfiscator_malloc_total{process=\"b\"} 2\n"
		     "konfiscator_malloc_total{process=\"c\"} 4\n"
		     "konfiscator_free_total 1\nelse{x=\"y\"} 3\n" ASKED),
		KF_TRACE_PAGE_ANOTHER);
	ck_assert_uint_eq(counted(KF_TRACE_EVENTS, "malloc", 0), 13);
	ck_assert_uint_eq(counted(KF_TRACE_EVENTS, "free", 0), 1);
	ck_assert_uint_eq(counted(KF_TRACE_SIZES, "request", 0), 2);
	ck_assert_int_eq(
		take(CALLS "konfiscator_free_total 1\n" ASKED BUCKETS END),
		KF_TRACE_PAGE_SAME);
	ck_assert_uint_eq(counted(KF_TRACE_EVENTS, "malloc", 0), 14);
	ck_assert_uint_eq(counted(KF_TRACE_SIZES, "request", 0), 4);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_page_is_taken,
		what_is_not_whole_is_not_taken,
		what_is_no_count_is_not_taken,
		buckets_rise,
		another_run_is_added,
	};

	return unit_run("exporter/trace/page", tests, KF_ARRAY_SIZE(tests));
}
