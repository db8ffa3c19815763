/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exporter/collect/durations.c: each duration is in the native bucket that its
 * logarithm names, and in the right bucket of the text.
 */
#include "config.h"

#include "exporter/collect/durations.h"
#include "tests/unit/unit.h"

#include <math.h>

#define LOWEST (KF_DURATIONS_LOW * 8 + 1)
#define HIGHEST (KF_DURATIONS_HIGH * 8)

static struct kf_durations durations;
static struct kf_page page;

static const struct kf_histogram *show(void)
{
	struct kf_series *s = kf_durations_show(
		&durations, &page,
		kf_page_family(&page, "d_seconds", KF_METRIC_HISTOGRAM,
			       "seconds", "durations"));

	ck_assert_ptr_nonnull(s);
	return &s->histogram;
}

static void end(void)
{
	kf_page_release(&page);
	durations = (struct kf_durations){0};
}

/* The one bucket with an observation; they are @nr. */
static int only(const uint64_t *count, unsigned int nr)
{
	int at = -1;

	for (unsigned int i = 0; i < nr; i++) {
		if (!count[i])
			continue;
		ck_assert_int_eq(at, -1);
		ck_assert_uint_eq(count[i], 1);
		at = (int)i;
	}
	ck_assert_int_ge(at, 0);
	return at;
}

static void one(uint64_t ns)
{
	double seconds = (double)ns * 1e-9;
	int index = (int)ceil(log2(seconds) * 8), at;
	const struct kf_histogram *h;

	kf_durations_note(&durations, ns);
	h = show();
	index = KF_MIN(KF_MAX(index, LOWEST), HIGHEST);
	ck_assert_int_eq(h->native.first + only(h->native.count, h->native.nr),
			 index);
	at = only(h->count, h->nr + 1);
	/* a duration of an hour is in the last bucket of both */
	ck_assert(at == (int)h->nr || seconds <= h->le[at]);
	ck_assert(at == 0 || seconds > h->le[at - 1]);
	ck_assert_double_eq(h->sum, seconds);
	end();
}

START_TEST(durations_are_in_the_buckets_of_their_logarithms)
{
	uint64_t seed = 3;

	for (unsigned int bit = 0; bit < 44; bit++) {
		for (unsigned int i = 0; i < 40; i++)
			one((1ull << bit) + chance_below(&seed, 1ull << bit));
	}
}
END_TEST

START_TEST(bounds_belong_to_the_bucket_below)
{
	/* a power of two that is a whole number of nanoseconds */
	one(1000000000);
	one(1000000000 / 4);
	one(1000000000ull / 512);
	one(4000000000);
	one(4000000001);
	one(64000000000);
}
END_TEST

START_TEST(no_duration_is_left_out)
{
	const struct kf_histogram *h;

	kf_durations_note(&durations, 0);
	kf_durations_note(&durations, UINT64_MAX / 2);
	h = show();
	ck_assert_int_eq(h->native.first, LOWEST);
	ck_assert_uint_eq(h->native.count[0], 1);
	ck_assert_int_eq(h->native.first + (int)h->native.nr - 1, HIGHEST);
	ck_assert_uint_eq(h->native.count[h->native.nr - 1], 1);
	ck_assert_uint_eq(h->count[0], 1);
	ck_assert_uint_eq(h->count[h->nr], 1);
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		durations_are_in_the_buckets_of_their_logarithms,
		bounds_belong_to_the_bucket_below,
		no_duration_is_left_out,
	};

	return unit_run("exporter/collect/durations", tests,
			KF_ARRAY_SIZE(tests));
}
