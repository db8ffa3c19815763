/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ages and lifetimes by stack: see ages.h.
 */
#include "reader/ages.h"

#include "reader/internal.h"

#include <stdlib.h>

#define LAST_SPAN (KF_STATS_SPANS - 1)

/* A stack whose oldest block is younger says nothing of leaks. */
#define LEAST_AGE_NS 1000000000ULL

/* Of the bytes that get old: with a larger share freed they do not stay. */
#define MOST_FREED 0.1

/* More: they churn. Between these a stack does both, or it is too early. */
#define CHURN_FREED 0.5

/*
 * Mean age of the live bytes by that of the oldest: one half where they come at
 * a constant rate, 1 where all came at once.
 */
#define MOST_MEAN 0.95

uint64_t kf_ages_now(const struct kf_snapshot *s, bool alive)
{
	uint64_t seen = kf_snapshot_value(s, "seen_at");
	uint64_t last = KF_MIN(seen, UINT64_MAX / 1000000) * 1000000;

	if (alive)
		return kf_clock_ns();
	for (uint32_t i = 0; i < s->nr_samples; i++) {
		if (s->samples[i].address)
			last = KF_MAX(last, s->samples[i].born);
	}
	return last;
}

static void ages_take_sample(struct kf_ages *a, double *births,
			     const struct kf_stats_sample *s, uint64_t now_ns)
{
	uint64_t age = now_ns > s->born ? now_ns - s->born : 0;
	double weight = (double)s->weight;
	const struct kf_estimate e = {weight,
				      weight * (double)(s->weight - s->bytes)};
	struct kf_estimate *live = &a->span[kf_stats_span(age)].live;

	*live = kf_estimate_sum(*live, e);
	a->oldest_ns = KF_MAX(a->oldest_ns, age);
	a->samples++;
	*births += weight * (double)s->born;
}

/* Means of births, unlike those of ages, stay the same as time passes. */
static void ages_take_mean(struct kf_ages *a, double births, uint64_t now_ns)
{
	double born = births / kf_ages_live(a, LAST_SPAN).value;

	if (a->samples && born < (double)now_ns)
		a->mean_ns = now_ns - (uint64_t)born;
}

static void ages_take_lifetimes(struct kf_ages *a,
				const struct kf_stats_lifetimes *l)
{
	const double unit = KF_STATS_VARIANCE_UNIT;

	for (unsigned int i = 0; i < KF_STATS_SPANS; i++)
		a->span[i].freed = (struct kf_estimate){
			(double)l->bytes[i], (double)l->variance[i] * unit};
	a->foreign = (struct kf_estimate){(double)l->foreign,
					  (double)l->foreign_variance * unit};
}

struct kf_ages *kf_ages_of(const struct kf_snapshot *s, uint64_t now_ns)
{
	struct kf_ages *all = calloc((size_t)s->nr_stacks + 1, sizeof(*all));
	double *births = calloc((size_t)s->nr_stacks + 1, sizeof(*births));

	for (uint32_t i = 0; all && births && i < s->nr_samples; i++) {
		const struct kf_stats_sample *e = &s->samples[i];

		if (e->address)
			ages_take_sample(&all[e->stack], &births[e->stack], e,
					 now_ns);
	}
	for (uint32_t i = 0; all && births && i < s->nr_stacks; i++) {
		ages_take_mean(&all[i], births[i], now_ns);
		if (i < s->nr_lifetimes)
			ages_take_lifetimes(&all[i], &s->lifetimes[i]);
	}
	if (!births) {
		free(all);
		all = NULL;
	}
	free(births);
	return all;
}

void kf_ages_add(struct kf_ages *to, const struct kf_ages *from)
{
	double a = kf_ages_live(to, LAST_SPAN).value;
	double b = kf_ages_live(from, LAST_SPAN).value;

	if (b > 0)
		to->mean_ns = (uint64_t)(((double)to->mean_ns * a +
					  (double)from->mean_ns * b) /
					 (a + b));
	to->oldest_ns = KF_MAX(to->oldest_ns, from->oldest_ns);
	to->samples += from->samples;
	to->foreign = kf_estimate_sum(to->foreign, from->foreign);
	for (unsigned int i = 0; i < KF_STATS_SPANS; i++) {
		to->span[i].live =
			kf_estimate_sum(to->span[i].live, from->span[i].live);
		to->span[i].freed =
			kf_estimate_sum(to->span[i].freed, from->span[i].freed);
	}
}

struct kf_estimate kf_ages_live(const struct kf_ages *a, unsigned int span)
{
	struct kf_estimate sum = {0};

	for (unsigned int i = 0; i <= span; i++)
		sum = kf_estimate_sum(sum, a->span[i].live);
	return sum;
}

struct kf_estimate kf_ages_freed(const struct kf_ages *a, unsigned int span)
{
	struct kf_estimate sum = {0};

	for (unsigned int i = 0; i <= span; i++)
		sum = kf_estimate_sum(sum, a->span[i].freed);
	return sum;
}

/*
 * Blocks get old when they reach the span before that of the oldest one: a
 * tenth of its age at most.
 */
static unsigned int ages_old_span(const struct kf_ages *a)
{
	unsigned int span = kf_stats_span(a->oldest_ns);

	return span ? span - 1 : 0;
}

enum kf_ages_kind kf_ages_kind(const struct kf_ages *a)
{
	struct kf_estimate live = {0};
	double freed = 0;

	for (unsigned int i = ages_old_span(a); i < KF_STATS_SPANS; i++) {
		live = kf_estimate_sum(live, a->span[i].live);
		freed += a->span[i].freed.value;
	}
	if (freed > CHURN_FREED * (freed + live.value))
		return KF_AGES_CHURNS;
	if (freed > MOST_FREED * (freed + live.value) ||
	    a->oldest_ns < LEAST_AGE_NS ||
	    kf_estimate_error(live) >= live.value)
		return KF_AGES_UNKNOWN;
	return (double)a->mean_ns > MOST_MEAN * (double)a->oldest_ns
		       ? KF_AGES_STAYS
		       : KF_AGES_GROWS;
}

const char *kf_ages_kind_name(enum kf_ages_kind kind)
{
	static const char *const names[KF_NR_AGES_KINDS] = {
		[KF_AGES_UNKNOWN] = "",
		[KF_AGES_GROWS] = "grows",
		[KF_AGES_STAYS] = "stays",
		[KF_AGES_CHURNS] = "churns",
	};

	return names[kind];
}
