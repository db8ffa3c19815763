/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/distance.c: against the C library's exponential and what is known of
 * the distribution.
 */
#include "config.h"

#include "sample/distance.h"

#include "tests/unit/unit.h"

#include <math.h>

#define DRAWS 200000
#define MEAN 524288.0

static double probability(double bytes, double mean)
{
	return -expm1(-bytes / mean);
}

/* The sum of many draws, and of their squares; the same each time. */
static void draw_many(double *sum, double *squares, unsigned int *beyond)
{
	uint64_t state = 1;

	*sum = *squares = 0;
	*beyond = 0;
	for (int i = 0; i < DRAWS; i++) {
		double x = (double)kf_distance_next(&state, (uint64_t)MEAN);

		*sum += x;
		*squares += x * x;
		*beyond += x > 2 * MEAN;
	}
}

START_TEST(distances_are_exponential)
{
	double sum, squares;
	unsigned int beyond;

	draw_many(&sum, &squares, &beyond);
	/* Errors of four deviations of the mean, and of what is counted. */
	ck_assert_double_eq_tol(sum / DRAWS, MEAN, 4 * MEAN / sqrt(DRAWS));
	ck_assert_double_eq_tol(squares / DRAWS / (2 * MEAN * MEAN), 1, 0.03);
	ck_assert_double_eq_tol(beyond / (double)DRAWS, exp(-2), 0.004);
}
END_TEST

START_TEST(distances_of_extreme_means_are_finite)
{
	uint64_t state = 7, longest = 0;

	for (int i = 0; i < DRAWS; i++) {
		uint64_t x = kf_distance_next(&state, KF_SAMPLE_MEAN_MAX);

		longest = x > longest ? x : longest;
		UNIT_REQUIRE(kf_distance_next(&state, 1) < 64);
	}
	/* No draw is below 2^-53, and ln of that is -36.7. */
	ck_assert_uint_lt(longest, 37 * KF_SAMPLE_MEAN_MAX);
	ck_assert_uint_gt(longest, 5 * KF_SAMPLE_MEAN_MAX);
}
END_TEST

START_TEST(any_state_is_a_good_one)
{
	for (uint64_t seed = 0; seed < 64; seed++) {
		uint64_t low = seed, high = seed << 58;
		double sum = 0;

		for (int i = 0; i < 2000; i++)
			sum += (double)(kf_distance_next(&low, 1 << 20) +
					kf_distance_next(&high, 1 << 20));
		ck_assert_double_eq_tol(sum / 4000 / (1 << 20), 1, 0.1);
	}
}
END_TEST

START_TEST(probability_is_that_of_the_c_library_to_the_last_digits)
{
	for (uint64_t mean = KF_SAMPLE_MEAN_MIN; mean <= KF_SAMPLE_MEAN_MAX;
	     mean *= 4) {
		for (uint64_t bytes = 1; bytes < (uint64_t)1 << 47;
		     bytes = bytes * 3 / 2 + 1) {
			double got = kf_distance_probability(bytes, mean);
			double want = probability((double)bytes, (double)mean);

			UNIT_REQUIRE(got > 0 && got <= 1);
			UNIT_REQUIRE(fabs(got / want - 1) < 1e-14);
		}
	}
}
END_TEST

START_TEST(weight_is_the_bytes_over_the_probability)
{
	uint64_t mean = (uint64_t)MEAN;

	/* A small block stands for the mean and half of itself. */
	ck_assert_uint_eq(kf_distance_weight(16, mean), mean + 8);
	ck_assert_uint_eq(kf_distance_weight(4096, mean), mean + 2051);
	/* One much larger than the mean for itself. */
	ck_assert_uint_eq(kf_distance_weight(100 * mean, mean), 100 * mean);
	for (uint64_t bytes = 16; bytes < (uint64_t)1 << 40; bytes *= 2) {
		double want = (double)bytes / probability((double)bytes, MEAN);
		uint64_t got = kf_distance_weight(bytes, mean);

		UNIT_REQUIRE(got >= bytes);
		UNIT_REQUIRE(fabs((double)got - want) <= 1 + want * 1e-14);
	}
}
END_TEST

START_TEST(hits_are_as_often_as_their_probability)
{
	static const double all[] = {0.001, 0.25, 0.5, 0.99};
	uint64_t state = 3;

	for (size_t i = 0; i < KF_ARRAY_SIZE(all); i++) {
		double deviation = sqrt(all[i] * (1 - all[i]) * DRAWS);
		unsigned int hits = 0;

		for (int k = 0; k < DRAWS; k++)
			hits += kf_distance_hit(&state, all[i]);
		ck_assert_double_eq_tol(hits, all[i] * DRAWS, 4 * deviation);
	}
	for (int k = 0; k < DRAWS; k++) {
		UNIT_REQUIRE(!kf_distance_hit(&state, 0));
		UNIT_REQUIRE(kf_distance_hit(&state, 1));
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		distances_are_exponential,
		distances_of_extreme_means_are_finite,
		any_state_is_a_good_one,
		probability_is_that_of_the_c_library_to_the_last_digits,
		weight_is_the_bytes_over_the_probability,
		hits_are_as_often_as_their_probability,
	};

	return unit_run("sample/distance", tests, KF_ARRAY_SIZE(tests));
}
