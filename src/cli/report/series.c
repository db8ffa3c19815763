/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Levels over time, for a recording whose length is not known in advance.
 */
#include "config.h"

#include "cli/report/report.h"

#include <string.h>

#define FIRST_WIDTH 64 /* ns */

void kf_series_init(struct kf_series *s, uint64_t from, uint64_t held)
{
	memset(s, 0, sizeof(*s));
	s->from = from;
	s->bucket[0].held = held;
	s->width = FIRST_WIDTH;
}

static void series_merge(struct kf_series_bucket *to,
			 const struct kf_series_bucket *later)
{
	if (!later->any)
		return;
	to->live_max = to->any ? KF_MAX(to->live_max, later->live_max)
			       : later->live_max;
	to->any = true;
	to->live = later->live;
	to->held = later->held;
	to->blocks = later->blocks;
	to->allocs += later->allocs;
	to->frees += later->frees;
	to->allocated += later->allocated;
}

static void series_halve(struct kf_series *s)
{
	size_t nr = (s->nr + 1) / 2;

	for (size_t i = 0; i < nr; i++) {
		struct kf_series_bucket b = s->bucket[2 * i];

		if (2 * i + 1 < s->nr)
			series_merge(&b, &s->bucket[2 * i + 1]);
		s->bucket[i] = b;
	}
	memset(s->bucket + nr, 0, (KF_SERIES_MAX - nr) * sizeof(*s->bucket));
	s->nr = nr;
	s->width *= 2;
}

static struct kf_series_bucket *bucket_at(struct kf_series *s, uint64_t time)
{
	uint64_t since = time > s->from ? time - s->from : 0;

	while (since / s->width >= KF_SERIES_MAX)
		series_halve(s);
	s->nr = KF_MAX(s->nr, (size_t)(since / s->width) + 1);
	return &s->bucket[since / s->width];
}

void kf_series_step(struct kf_series *s, const struct kf_step *step,
		    const struct kf_replay_level *now)
{
	struct kf_series_bucket after = {
		.any = true,
		.live = now->bytes,
		.live_max = now->bytes,
		.held = now->held,
		.blocks = now->blocks,
		.allocs = step->made,
		.frees = step->gone,
		.allocated = step->made ? step->block.size : 0,
	};

	series_merge(bucket_at(s, step->event->time), &after);
}

void kf_series_finish(struct kf_series *s, size_t nr)
{
	while (s->nr > nr)
		series_halve(s);
	for (size_t i = 1; i < s->nr; i++) {
		struct kf_series_bucket *b = &s->bucket[i];
		const struct kf_series_bucket *before = b - 1;

		if (!b->any) {
			b->live = b->live_max = before->live;
			b->held = before->held;
			b->blocks = before->blocks;
		} else {
			b->live_max = KF_MAX(b->live_max, before->live);
		}
	}
}
