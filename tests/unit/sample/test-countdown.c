/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/countdown.c: which blocks are samples does not depend on how many are
 * charged at once, and follows the mean.
 */
#include "config.h"

#include "sample/countdown.h"
#include "sample/distance.h"

#include "tests/unit/unit.h"

#include <math.h>

#define BLOCKS 400000
#define MEAN 8192

/* Samples of @nr blocks that are charged @batch at a time; where they lay. */
static unsigned int charge(struct kf_countdown *c, uint64_t bytes, uint32_t nr,
			   uint32_t batch, uint64_t *hash)
{
	unsigned int samples = 0;

	*hash = 0;
	for (uint32_t done = 0; done < nr;) {
		uint32_t n = nr - done < batch ? nr - done : batch;
		uint32_t before = kf_countdown_pass(c, bytes, n);

		UNIT_REQUIRE(before <= n);
		done += before;
		if (before == n)
			continue;
		samples++;
		*hash = (*hash ^ done) * 0x9e3779b97f4a7c15ULL;
		done++;
	}
	return samples;
}

/* A countdown whose first distance is drawn. */
static struct kf_countdown started(uint64_t mean)
{
	struct kf_countdown c = {0};

	kf_countdown_seed(1);
	kf_countdown_set(mean);
	UNIT_REQUIRE(kf_countdown_pass(&c, 1, 0) == 0);
	return c;
}

START_TEST(no_block_is_a_sample_while_it_is_off)
{
	struct kf_countdown c = {0};
	uint64_t hash;

	ck_assert_uint_eq(charge(&c, 1 << 20, BLOCKS, 1, &hash), 0);
	ck_assert_uint_eq(charge(&c, UINT64_C(1) << 40, 1, 1, &hash), 0);
	c = started(MEAN);
	ck_assert_uint_gt(charge(&c, 64, BLOCKS, 100, &hash), 0);
	kf_countdown_set(0);
	ck_assert_uint_eq(kf_countdown_mean(), 0);
	ck_assert_uint_eq(charge(&c, 64, BLOCKS, 100, &hash), 0);
}
END_TEST

START_TEST(samples_are_the_same_however_many_are_charged_at_once)
{
	static const uint32_t batches[] = {2, 7, 64, 1000, BLOCKS};
	struct kf_countdown first = started(MEAN);
	struct kf_countdown c = first;
	uint64_t want, got;
	unsigned int nr = charge(&c, 48, BLOCKS, 1, &want);

	ck_assert_uint_gt(nr, 1000);
	for (size_t i = 0; i < KF_ARRAY_SIZE(batches); i++) {
		c = first;
		ck_assert_uint_eq(charge(&c, 48, BLOCKS, batches[i], &got), nr);
		ck_assert_uint_eq(got, want);
	}
}
END_TEST

START_TEST(samples_are_as_often_as_blocks_are_large)
{
	static const uint64_t sizes[] = {16, 1000, 8192, 100000};

	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		struct kf_countdown c = started(MEAN);
		double p = kf_distance_probability(sizes[i], MEAN);
		double deviation = sqrt(p * (1 - p) * BLOCKS);
		uint64_t hash;

		ck_assert_double_eq_tol(charge(&c, sizes[i], BLOCKS, 20, &hash),
					p * BLOCKS, 4 * deviation + 1);
	}
}
END_TEST

START_TEST(a_new_mean_and_a_new_seed_are_seen_at_once)
{
	struct kf_countdown c = started(KF_SAMPLE_MEAN_MAX);
	struct kf_countdown other = started(MEAN);
	uint64_t hash, others;

	ck_assert_uint_gt(charge(&c, 64, BLOCKS, 100, &hash), 1000);
	ck_assert_uint_gt(charge(&other, 64, BLOCKS, 100, &others), 1000);
	ck_assert_uint_ne(hash, others);
	c = other;
	charge(&c, 64, BLOCKS, 100, &hash);
	kf_countdown_seed(2);
	charge(&other, 64, BLOCKS, 100, &others);
	ck_assert_uint_ne(hash, others);
}
END_TEST

START_TEST(guests_are_drawn_with_their_probability)
{
	unsigned int hits = 0, kept = 0;

	started(MEAN);
	for (int i = 0; i < BLOCKS; i++) {
		hits += kf_countdown_hits(1000, MEAN);
		kept += kf_countdown_stays(8000, 1000, MEAN);
		UNIT_REQUIRE(kf_countdown_stays(1000, 1000, MEAN));
	}
	ck_assert_double_eq_tol(hits / (double)BLOCKS,
				kf_distance_probability(1000, MEAN), 0.003);
	ck_assert_double_eq_tol(kept / (double)BLOCKS,
				kf_distance_probability(1000, MEAN) /
					kf_distance_probability(8000, MEAN),
				0.003);
}
END_TEST

START_TEST(a_mean_that_follows_draws_nothing_anew)
{
	struct kf_countdown c = started(MEAN);
	int64_t left = c.left;
	uint32_t epoch = kf_sample_epoch;
	uint64_t hash;

	ck_assert(!kf_countdown_follow(MEAN + 1, 4 * MEAN));
	ck_assert(kf_countdown_follow(MEAN, 4 * MEAN));
	ck_assert_uint_eq(kf_countdown_mean(), 4 * MEAN);
	ck_assert_uint_eq(kf_sample_epoch, epoch);
	/* the sample that was drawn comes where it was, with its own mean */
	ck_assert_uint_eq(kf_countdown_pass(&c, 1, (uint32_t)left + 1),
			  (uint32_t)left);
	ck_assert_uint_eq(c.was, MEAN);
	ck_assert_uint_eq(c.mean, 4 * MEAN);
	ck_assert_double_eq_tol(charge(&c, 64, BLOCKS, 100, &hash),
				64.0 * BLOCKS / (4 * MEAN),
				5 * sqrt(64.0 * BLOCKS / (4 * MEAN)));
	ck_assert_uint_eq(c.was, 4 * MEAN);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		no_block_is_a_sample_while_it_is_off,
		samples_are_the_same_however_many_are_charged_at_once,
		samples_are_as_often_as_blocks_are_large,
		a_new_mean_and_a_new_seed_are_seen_at_once,
		guests_are_drawn_with_their_probability,
		a_mean_that_follows_draws_nothing_anew,
	};

	return unit_run("sample/countdown", tests, KF_ARRAY_SIZE(tests));
}
