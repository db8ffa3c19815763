/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How far a thread's heap is from its next sample.
 *
 * Charged where many blocks are taken at once, with all of them; who crosses
 * the end is told how many came before it. Off, the end is too far to be
 * reached. A change of the mean is seen by its number, the epoch; as the
 * distances have no memory they may be drawn anew at any time.
 */
#ifndef KF_SAMPLE_COUNTDOWN_H
#define KF_SAMPLE_COUNTDOWN_H

#include "base/compiler.h"

/* Which mean holds, counted from 1; atomic. */
extern uint32_t kf_sample_epoch;

/* A heap's part; all of it the owner's. Zeroes are a valid start. */
struct kf_countdown {
	int64_t left;	 /* bytes before the next sample */
	uint64_t mean;	 /* that @left was drawn by; 0: off */
	uint64_t random; /* state of the generator */
	uint32_t epoch;	 /* of @mean */
};

/* See kf_countdown_mean(); atomic, stored before the epoch. */
extern uint64_t kf_countdown_bytes __kf_hidden;

/**
 * kf_countdown_set() - change the mean distance of samples
 * @mean:	bytes, KF_SAMPLE_MEAN_MIN to KF_SAMPLE_MEAN_MAX; 0: take none
 *
 * Heaps see it when they are charged next.
 *
 * Context: one thread at a time.
 */
void kf_countdown_set(uint64_t mean);

/* The mean distance of samples, bytes; 0: none are taken. */
static inline uint64_t kf_countdown_mean(void)
{
	return kf_load(&kf_countdown_bytes);
}

/**
 * kf_countdown_seed() - what the heaps' generators start from
 * @seed:	a number for the same samples each time; 0: one by chance
 *
 * Those that have started draw a new one.
 *
 * Context: one thread at a time; a forked child calls it, or it would draw
 *	    what its parent draws.
 */
void kf_countdown_seed(uint64_t seed);

/**
 * kf_countdown_update() - begin anew if the mean has changed
 * @c:		the countdown
 *
 * Context: the owner.
 */
void kf_countdown_update(struct kf_countdown *c);

/**
 * kf_countdown_cross() - kf_countdown_pass(), where it is no matter of course
 * @c:		as there
 * @bytes:	as there
 * @nr:		as there
 *
 * Context: as there.
 * Return: as there.
 */
uint32_t kf_countdown_cross(struct kf_countdown *c, uint64_t bytes,
			    uint32_t nr);

/* Whether no sample comes within that many bytes, as far as this tells. */
static inline bool kf_countdown_may_pass(const struct kf_countdown *c,
					 int64_t bytes)
{
	return likely(bytes <= c->left &&
		      c->epoch == kf_load(&kf_sample_epoch));
}

/**
 * kf_countdown_pass() - charge blocks of one size
 * @c:		the countdown
 * @bytes:	of each, not 0
 * @nr:		how many
 *
 * Context: the owner.
 * Return: how many come before the next sample; @nr: there is none among them.
 *	   Only these are charged, and the distance behind the sample is drawn.
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
 * kf_countdown_hits() - whether a block is a sample, for those without
 * countdown
 * @bytes:	of the block
 * @mean:	of the distances, not 0
 *
 * Context: any thread.
 * Return: true with the block's probability.
 */
bool kf_countdown_hits(uint64_t bytes, uint64_t mean);

/**
 * kf_countdown_stays() - whether a sample of a block that shrinks stays one
 * @before:	bytes that it had
 * @after:	bytes that it has
 * @mean:	that it was sampled by
 *
 * Context: any thread.
 * Return: true so often that blocks of @after bytes are samples as often as
 *	   if they had been allocated so.
 */
bool kf_countdown_stays(uint64_t before, uint64_t after, uint64_t mean);

#endif
