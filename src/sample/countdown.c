/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes before the next sample: see countdown.h.
 */
#include "sample/countdown.h"

#include "sample/distance.h"
#include "sys/process.h"

/* Off: more bytes than a program can allocate. */
#define FAR (INT64_MAX / 2)

uint32_t kf_sample_epoch = 1;

uint64_t kf_countdown_bytes;
static uint64_t seed_now;     /* atomic, stored before the epoch */
static uint64_t seeds_given;  /* atomic */
static uint64_t shared_state; /* generator without a countdown; atomic */

/* States of two generators differ, also those of neighbouring seeds. */
static uint64_t next_seed(void)
{
	uint64_t nr = __atomic_add_fetch(&seeds_given, 1, __ATOMIC_RELAXED);
	uint64_t seed = kf_load(&seed_now);

	return (seed + 1) * 0xd1342543de82ef95ULL ^ nr << 32;
}

static void next_epoch(void)
{
	/* pairs with the acquire load of countdown_renew() */
	kf_store_release(&kf_sample_epoch, kf_sample_epoch + 1);
}

void kf_countdown_set(uint64_t mean)
{
	kf_store(&kf_countdown_bytes, mean);
	next_epoch();
}

bool kf_countdown_follow(uint64_t from, uint64_t to)
{
	return kf_cas(&kf_countdown_bytes, &from, to);
}

void kf_countdown_seed(uint64_t seed)
{
	kf_store(&seed_now, seed ? seed : kf_process_random());
	kf_store(&shared_state, next_seed());
	next_epoch();
}

static void restart(struct kf_countdown *c)
{
	c->left = FAR;
	if (c->mean > KF_SAMPLE_EVERY)
		c->left = (int64_t)kf_distance_next(&c->random, c->mean);
}

static void countdown_renew(struct kf_countdown *c)
{
	c->epoch = kf_load_acquire(&kf_sample_epoch);
	c->mean = kf_countdown_mean();
	if (c->mean)
		c->random = next_seed();
	restart(c);
}

void kf_countdown_update(struct kf_countdown *c)
{
	if (c->epoch != kf_load(&kf_sample_epoch))
		countdown_renew(c);
}

uint32_t kf_countdown_cross(struct kf_countdown *c, uint64_t bytes, uint32_t nr)
{
	uint64_t before;

	kf_countdown_update(c);
	before = (uint64_t)c->left / bytes;
	if (before >= nr) {
		c->left -= (int64_t)(bytes * nr);
		return nr;
	}
	c->was = c->mean;
	c->mean = kf_countdown_mean();
	restart(c);
	return c->was ? (uint32_t)before : nr;
}

static bool countdown_draw(double probability)
{
	uint64_t state = kf_fetch_add(&shared_state, 0x9e3779b97f4a7c15ULL);

	return kf_distance_hit(&state, probability);
}

bool kf_countdown_hits(uint64_t bytes, uint64_t mean)
{
	return countdown_draw(kf_distance_probability(bytes, mean));
}

bool kf_countdown_stays(uint64_t before, uint64_t after, uint64_t mean)
{
	return countdown_draw(kf_distance_probability(after, mean) /
			      kf_distance_probability(before, mean));
}
