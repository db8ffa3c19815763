/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counts and ages of the stacks of a profile at a time: those of the last
 * records until then.
 */
#include "reader/profile.h"

#include "base/saturate.h"

#include <string.h>

void kf_profile_at(const struct kf_profile *p, uint64_t time_ns,
		   struct kf_profile_count *counts)
{
	memset(counts, 0, p->nr_stacks * sizeof(*counts));
	for (size_t i = 0; i < p->nr_snapshots; i++) {
		const struct kf_profile_snapshot *s = p->snapshots[i];
		const struct kf_profile_count *c = kf_profile_counts(s);

		if (s->time_ns > time_ns)
			break;
		for (uint64_t k = 0; k < s->nr; k++) {
			ptrdiff_t n = kf_profile_stack_of(p, c[k].entry);

			if (n >= 0)
				counts[n] = c[k];
		}
	}
}

static struct kf_estimate profile_estimate(uint64_t value, uint64_t variance)
{
	return (struct kf_estimate){
		(double)KF_MIN(value, KF_MOST),
		(double)KF_MIN(variance, KF_MOST) * KF_STATS_VARIANCE_UNIT,
	};
}

/* @later_ns: from the snapshot of the record on. */
static void profile_ages_of(const struct kf_profile_ages *a, uint64_t later_ns,
			    struct kf_ages *to)
{
	const struct kf_profile_span *span = (const void *)(a + 1);

	*to = (struct kf_ages){
		.samples = a->samples,
		.foreign = profile_estimate(a->foreign, a->foreign_variance),
	};
	if (a->samples) {
		to->oldest_ns = kf_sum(a->oldest_ns, later_ns);
		to->mean_ns = kf_sum(a->mean_ns, later_ns);
	}
	for (uint32_t i = 0; i < a->nr; i++) {
		if (span[i].span >= KF_STATS_SPANS)
			continue;
		to->span[span[i].span].live =
			profile_estimate(span[i].live, span[i].live_variance);
		to->span[span[i].span].freed =
			profile_estimate(span[i].freed, span[i].freed_variance);
	}
}

/* Records of ages are between their snapshot and the next one. */
void kf_profile_ages_at(const struct kf_profile *p, uint64_t time_ns,
			struct kf_ages *ages)
{
	uint64_t last = 0;
	size_t k = 0;

	memset(ages, 0, p->nr_stacks * sizeof(*ages));
	for (size_t i = 0; i < p->nr_snapshots; i++) {
		if (p->snapshots[i]->time_ns <= time_ns)
			last = KF_MAX(last, p->snapshots[i]->time_ns);
	}
	for (size_t i = 0; i < p->nr_snapshots; i++) {
		const struct kf_profile_snapshot *s = p->snapshots[i];
		const void *end = i + 1 < p->nr_snapshots
					  ? (const void *)p->snapshots[i + 1]
					  : (const void *)UINTPTR_MAX;

		if (s->time_ns > time_ns)
			break;
		for (; k < p->nr_ages && (const void *)p->ages[k] < end; k++) {
			ptrdiff_t n = kf_profile_stack_of(p, p->ages[k]->entry);

			if (n >= 0)
				profile_ages_of(p->ages[k], last - s->time_ns,
						&ages[n]);
		}
	}
}
