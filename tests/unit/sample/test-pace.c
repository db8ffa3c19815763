/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/pace.c: the mean doubles while there are too many samples, comes back
 * when there are few, and stays where there are some.
 */
#include "config.h"

#include "sample/distance.h"
#include "sample/pace.h"

#include "tests/unit/unit.h"

#define SECOND UINT64_C(1000000000)
#define LEAST (UINT64_C(1) << 20)
#define MOST_IN_A_SECOND (KF_PACE_SAMPLES * (SECOND / KF_PACE_NS))

/* What a program that allocates at a rate has. */
struct program {
	uint64_t now;
	uint64_t mean;
	uint64_t samples;
};

static struct program begun(void)
{
	kf_pace_begin(LEAST);
	return (struct program){.now = 1000 * SECOND, .mean = LEAST};
}

/* @rate: bytes a second; samples are as far from each other as their mean. */
static void run(struct program *p, uint64_t rate, uint64_t seconds)
{
	uint64_t end = p->now + seconds * SECOND, mean;

	p->samples = 0;
	for (;;) {
		p->now += (uint64_t)((double)p->mean / (double)rate * 1e9);
		if (p->now > end)
			break;
		p->samples++;
		mean = kf_pace_note(p->now);
		p->mean = mean ? mean : p->mean;
	}
	p->now = end;
}

START_TEST(the_mean_stays_while_samples_are_few)
{
	struct program p = begun();

	run(&p, 200 * LEAST, 20);
	ck_assert_uint_eq(p.mean, LEAST);
	ck_assert_uint_ge(p.samples, 199 * 20);
}
END_TEST

START_TEST(samples_are_bounded_at_any_rate)
{
	for (uint64_t rate = LEAST; rate < LEAST << 20; rate *= 3) {
		struct program p = begun();

		run(&p, rate, 1);
		/* each doubling takes as many samples again */
		ck_assert_uint_le(p.samples,
				  MOST_IN_A_SECOND + 20 * KF_PACE_SAMPLES);
		run(&p, rate, 10);
		ck_assert_uint_le(p.samples, 10 * MOST_IN_A_SECOND);
		if (rate > MOST_IN_A_SECOND * LEAST)
			ck_assert_uint_ge(p.samples, 10 * MOST_IN_A_SECOND / 4);
	}
}
END_TEST

START_TEST(the_mean_comes_back)
{
	struct program p = begun();

	run(&p, LEAST << 16, 10);
	ck_assert_uint_ge(p.mean, LEAST << 8);
	/* the first sample at the old distance tells of the new rate */
	run(&p, 100 * LEAST, 20);
	ck_assert_uint_le(p.mean, 2 * LEAST);
	run(&p, LEAST, 600);
	ck_assert_uint_eq(p.mean, LEAST);
}
END_TEST

START_TEST(the_mean_has_a_largest_value)
{
	uint64_t mean = 0, next;

	kf_pace_begin(LEAST);
	for (int i = 0; i < 100 * KF_PACE_SAMPLES; i++) {
		next = kf_pace_note(SECOND);
		mean = next ? next : mean;
	}
	ck_assert_uint_eq(mean, KF_SAMPLE_MEAN_MAX);
}
END_TEST

START_TEST(a_mean_that_was_set_is_not_followed)
{
	kf_pace_begin(LEAST);
	kf_pace_end();
	ck_assert(!kf_pace_is_on());
	for (int i = 0; i < 10 * KF_PACE_SAMPLES; i++) {
		ck_assert_uint_eq(kf_pace_note(SECOND), 0);
		ck_assert(kf_pace_spares(SECOND));
	}
}
END_TEST

START_TEST(stacks_of_realloc_are_bounded_apart)
{
	unsigned int spared = 0;

	kf_pace_begin(LEAST);
	for (int i = 0; i < 10 * KF_PACE_SAMPLES; i++)
		spared += kf_pace_spares(SECOND);
	ck_assert_uint_eq(spared, KF_PACE_SAMPLES);
	ck_assert(kf_pace_spares(SECOND + KF_PACE_NS));
	ck_assert_uint_eq(kf_pace_note(SECOND), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		the_mean_stays_while_samples_are_few,
		samples_are_bounded_at_any_rate,
		the_mean_comes_back,
		the_mean_has_a_largest_value,
		a_mean_that_was_set_is_not_followed,
		stacks_of_realloc_are_bounded_apart,
	};

	return unit_run("sample/pace", tests, KF_ARRAY_SIZE(tests));
}
