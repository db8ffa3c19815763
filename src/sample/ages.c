/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ages of live samples and lifetimes of freed ones, in the stats file.
 *
 * A sample's entry has the number of its record, so it needs no search. The
 * library reads nothing back: what it needs is in the record.
 */
#include "sample/internal.h"

#include "stats/stats.h"
#include "sys/process.h"

/*
 * A table grows when samples come, not when they go: free() may be called under
 * a filter that forbids system calls.
 */
static void *ages_table(enum kf_stats_area area, uint32_t nr)
{
	uint32_t have;
	void *base = kf_stats_area(area, &have);

	if (likely(nr <= have))
		return base;
	return kf_process_is_barred() ? NULL : kf_stats_area_grow(area, nr);
}

void kf_ages_came(uint32_t nr, const struct kf_stats_sample *s)
{
	struct kf_stats_sample *all, *e;

	ages_table(KF_AREA_LIFETIMES, s->stack + 1);
	all = ages_table(KF_AREA_SAMPLES, nr + 1);
	if (!all)
		return;
	e = &all[nr];
	e->bytes = s->bytes;
	e->weight = s->weight;
	e->born = s->born;
	e->stack = s->stack;
	e->pinned = KF_STATS_PINNED_UNKNOWN;
	/* readers in other processes: an entry with an address is whole */
	kf_store_release(&e->address, s->address);
}

void kf_ages_pinned(uint32_t nr, uint32_t pinned)
{
	uint32_t have;
	struct kf_stats_sample *all = kf_stats_area(KF_AREA_SAMPLES, &have);

	if (nr < have)
		kf_store(&all[nr].pinned, pinned);
}

static void ages_leave(uint32_t nr)
{
	uint32_t have;
	struct kf_stats_sample *all = kf_stats_area(KF_AREA_SAMPLES, &have);

	if (nr < have)
		kf_store_release(&all[nr].address, 0);
}

void kf_ages_gone(uint32_t nr, const struct kf_stats_sample *s, uint64_t now,
		  bool foreign)
{
	uint32_t have;
	struct kf_stats_lifetimes *l = kf_stats_area(KF_AREA_LIFETIMES, &have);
	uint64_t variance = kf_sample_variance(s->bytes, s->weight);
	unsigned int span = kf_stats_span(now > s->born ? now - s->born : 0);

	ages_leave(nr);
	if (s->stack >= have)
		return;
	l += s->stack;
	kf_fetch_add(&l->bytes[span], s->weight);
	kf_fetch_add(&l->variance[span], variance);
	if (foreign) {
		kf_fetch_add(&l->foreign, s->weight);
		kf_fetch_add(&l->foreign_variance, variance);
	}
}
