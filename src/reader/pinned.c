/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the live blocks of stacks pin: see pinned.h.
 *
 * A sample that was drawn with probability p stands for 1 / p blocks, each of
 * which pins what the sample says: an estimate as that of bytes, with the
 * variance x^2 (1 - p) / p^2 (Horvitz and Thompson, 1952).
 */
#include "reader/pinned.h"

#include <stdlib.h>

uint64_t kf_pinned_noted(const struct kf_snapshot *s)
{
	uint64_t at = kf_snapshot_value(s, "pinned_at");

	return KF_MIN(at, UINT64_MAX / 1000000) * 1000000;
}

/* The largest block of a slab, bytes. */
static uint64_t pinned_largest(const struct kf_snapshot *s)
{
	uint64_t largest = 0;

	for (unsigned int i = 0; i < s->nr_classes; i++)
		largest = KF_MAX(largest, s->classes[i].bytes);
	return largest;
}

/* Of @x of each block for which a sample stands. */
static struct kf_estimate pinned_estimate(const struct kf_stats_sample *s,
					  double x)
{
	double blocks = (double)s->weight / (double)s->bytes;

	return (struct kf_estimate){x * blocks, x * x * blocks * (blocks - 1)};
}

static void pinned_add(struct kf_estimate *to, const struct kf_stats_sample *s,
		       double x)
{
	*to = kf_estimate_sum(*to, pinned_estimate(s, x));
}

static void pinned_take(struct kf_pinned *to, const struct kf_stats_sample *s)
{
	if (s->pinned == KF_STATS_PINNED_UNKNOWN) {
		pinned_add(&to->unknown, s, (double)s->bytes);
		return;
	}
	pinned_add(&to->bytes, s, (double)s->pinned / KF_STATS_PINNED_PARTS);
	if (s->pinned)
		pinned_add(&to->blocks, s, 1);
}

struct kf_pinned *kf_pinned_stacks(const struct kf_snapshot *s)
{
	struct kf_pinned *all = calloc((size_t)s->nr_stacks + 1, sizeof(*all));
	uint64_t largest = pinned_largest(s);

	for (uint32_t i = 0; all && i < s->nr_samples; i++) {
		const struct kf_stats_sample *e = &s->samples[i];

		if (e->address && e->bytes && e->bytes <= largest)
			pinned_take(&all[e->stack], e);
	}
	return all;
}
