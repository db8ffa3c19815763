/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes that a thread's heap allocates before its next sample.
 *
 * The heap charges the countdown when it fills a bin, with all of its blocks;
 * the result is the number of blocks before the sample. While sampling is off
 * the countdown is too large to be reached. An epoch tells of a new mean; as
 * exponential distances have no memory, they may be drawn anew at any time. A
 * mean that only follows the rate of samples has no epoch: a countdown uses it
 * from its next sample on.
 */
#ifndef KF_SAMPLE_COUNTDOWN_H
#define KF_SAMPLE_COUNTDOWN_H

#include "base/compiler.h"

/* The mean of which every block is a sample: no distance is drawn. */
#define KF_SAMPLE_EVERY ((uint64_t)1)

/* Number of the present mean, from 1; atomic. */
extern uint32_t kf_sample_epoch;

/* The countdown of a heap, used by its thread. Zeroes are a valid start. */
struct kf_countdown {
	int64_t left;	 /* bytes before the next sample */
	uint64_t mean;	 /* with which @left was drawn; 0: off */
	uint64_t was;	 /* with which the last sample was drawn */
	uint64_t random; /* state of the generator */
	uint32_t epoch;	 /* of @mean */
};

/* The mean of kf_countdown_mean(); atomic, stored before the epoch. */
extern uint64_t kf_countdown_bytes __kf_hidden;

/**
 * kf_countdown_set() - change the mean distance of samples
 * @mean:	bytes, KF_SAMPLE_MEAN_MIN to KF_SAMPLE_MEAN_MAX; 0: take none;
 *		KF_SAMPLE_EVERY
 *
 * A heap sees the new mean when it charges its countdown.
 *
 * Context: one thread at a time.
 */
void kf_countdown_set(uint64_t mean);

/**
 * kf_countdown_follow() - change the mean without drawing distances anew
 * @from:	the present mean; if it is another one, nothing is done
 * @to:		the mean of distances that are drawn from now on
 *
 * Samples that are due stay due.
 *
 * Context: any thread.
 * Return: whether it was done.
 */
bool kf_countdown_follow(uint64_t from, uint64_t to);

/* The mean distance of samples, bytes; 0: sampling is off. */
static inline uint64_t kf_countdown_mean(void)
{
	return kf_load(&kf_countdown_bytes);
}

/* Whether every block is a sample. */
static inline bool kf_countdown_takes_every(void)
{
	return unlikely(kf_countdown_mean() == KF_SAMPLE_EVERY);
}

/**
 * kf_countdown_seed() - seed the heaps' generators
 * @seed:	a number that gives the same samples each time; 0: a random one
 *
 * Generators that have started are seeded again.
 *
 * Context: one thread at a time; a forked child calls it, as it would draw
 *	    the same samples as its parent.
 */
void kf_countdown_seed(uint64_t seed);

/**
 * kf_countdown_update() - draw a new distance if the mean has changed
 * @c:		the countdown
 *
 * Context: the owner.
 */
void kf_countdown_update(struct kf_countdown *c);

/**
 * kf_countdown_cross() - the slow path of kf_countdown_pass()
 * @c:		the countdown
 * @bytes:	of each block, not 0
 * @nr:		number of blocks
 *
 * Context: the owner.
 * Return: as kf_countdown_pass().
 */
uint32_t kf_countdown_cross(struct kf_countdown *c, uint64_t bytes,
			    uint32_t nr);

/* Whether the fast path of kf_countdown_pass() applies. */
static inline bool kf_countdown_may_pass(const struct kf_countdown *c,
					 int64_t bytes)
{
	return likely(bytes <= c->left &&
		      c->epoch == kf_load(&kf_sample_epoch));
}

/**
 * kf_countdown_pass() - charge blocks of one size
 * @c:		the countdown
 * @bytes:	of each block, not 0
 * @nr:		number of blocks
 *
 * Context: the owner.
 * Return: the number of blocks before the next sample, which are charged; the
 *	   next distance is drawn, and @c->was is the mean of the one before.
 *	   @nr: none of the blocks is a sample.
 */
static inline uint32_t kf_countdown_pass(struct kf_countdown *c, uint64_t bytes,
					 uint32_t nr)
{
	int64_t all = (int64_t)(bytes * nr);

	if (unlikely(!kf_countdown_may_pass(c, all)))
		return kf_countdown_cross(c, bytes, nr);
	c->left -= all;
	return nr;
}

/**
 * kf_countdown_skip() - let the next block be no sample
 * @c:		the countdown
 * @bytes:	of the block, at most
 *
 * If there is no record or no memory for a sample: the engine gives no block
 * while a sample is due, and could give none at all.
 *
 * Context: the owner.
 */
static inline void kf_countdown_skip(struct kf_countdown *c, uint64_t bytes)
{
	c->left = KF_MAX(c->left, (int64_t)bytes);
}

/**
 * kf_countdown_hits() - draw whether a block is a sample, without a countdown
 * @bytes:	of the block
 * @mean:	of the distances, not 0
 *
 * Context: any thread.
 * Return: true with the probability of kf_distance_probability().
 */
bool kf_countdown_hits(uint64_t bytes, uint64_t mean);

/**
 * kf_countdown_stays() - draw whether a sampled block that shrinks stays one
 * @before:	old bytes of the block
 * @after:	new bytes of the block
 * @mean:	with which it was sampled
 *
 * Context: any thread.
 * Return: true with a probability after which blocks of @after bytes are
 *	   samples as often as newly allocated ones.
 */
bool kf_countdown_stays(uint64_t before, uint64_t after, uint64_t mean);

#endif
