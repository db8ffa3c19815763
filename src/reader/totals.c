/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The totals of the counters.
 *
 * Promises two equations for every snapshot, also for one taken in the middle
 * of a change: mallocs - frees + inherited = live blocks, and live + rounding +
 * cached + free + metadata = held. If the figures were read at different times,
 * the difference is added to the free pages, where it matters least.
 */
#include "reader/internal.h"

#include "base/saturate.h"

#define MAX_LEVEL ((uint64_t)1 << 58) /* bytes: the largest address */

static uint64_t totals_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Levels are sums over slots: the share of a slot may be negative. */
static uint64_t totals_level(const struct kf_snapshot *s, enum kf_stat stat)
{
	int64_t v = (int64_t)kf_snapshot_stat(s, stat);

	return v > 0 ? KF_MIN((uint64_t)v, MAX_LEVEL) : 0;
}

/*
 * A realloc that copied, or that changed a block's class in place, was counted
 * in both classes, as a malloc and a free; for the program one block stayed
 * live.
 */
static void forget_moves(const struct kf_snapshot *s, struct kf_totals *t)
{
	uint64_t moved = kf_snapshot_stat(s, KF_STAT_realloc_moved) +
			 kf_snapshot_stat(s, KF_STAT_reclassed);

	t->mallocs = totals_less(t->mallocs, moved);
	t->frees = totals_less(t->frees, moved);
}

uint64_t kf_class_blocks(const struct kf_class_count *c)
{
	int64_t n = (int64_t)c->mallocs - (int64_t)c->frees + c->inherited;

	return n > 0 ? (uint64_t)n : 0;
}

/* Adds blocks and usable bytes; returns the live bytes of the size classes. */
static uint64_t sum_classes(const struct kf_snapshot *s, struct kf_totals *t)
{
	uint64_t small = 0;

	for (unsigned int i = 0; i < s->nr_classes; i++) {
		const struct kf_class_count *c = &s->classes[i];

		/* most classes are not used by a process */
		if (!(c->mallocs | c->frees | (uint64_t)c->inherited))
			continue;
		t->mallocs = kf_sum(t->mallocs, c->mallocs);
		t->frees = kf_sum(t->frees, c->frees);
		t->inherited_blocks += (uint64_t)c->inherited;
		t->allocated =
			kf_sum(t->allocated, kf_times(c->mallocs, c->bytes));
		t->freed = kf_sum(t->freed, kf_times(c->frees, c->bytes));
		small = kf_sum(small, kf_times(kf_class_blocks(c), c->bytes));
	}
	/* the file is false, or was read while the process forked */
	if ((int64_t)t->inherited_blocks < 0)
		t->inherited_blocks = 0;
	/*
	 * Figures of a damaged file must survive a conversion to double and
	 * back.
	 */
	small = KF_MIN(small, MAX_LEVEL);
	forget_moves(s, t);
	/* A free may be read before its malloc. */
	if ((int64_t)(t->mallocs + t->inherited_blocks - t->frees) < 0)
		t->frees = t->mallocs + t->inherited_blocks;
	t->live_blocks = t->mallocs + t->inherited_blocks - t->frees;
	return small;
}

/*
 * Blocks of KF_SLOT_taken that are not live. A tiny block that is freed leaves
 * its thread, so the calls of malloc are what left @taken; a medium block stays
 * with the thread until it is put back.
 */
static uint64_t totals_bins(const struct kf_snapshot *s)
{
	uint64_t left = 0;

	for (unsigned int i = 0; i < s->nr_classes; i++) {
		const struct kf_class_count *c = &s->classes[i];
		uint64_t nr = c->bytes <= KF_STATS_TINY_MAX
				      ? c->mallocs
				      : kf_class_blocks(c);

		left = kf_sum(left, kf_times(nr, c->bytes));
	}
	return totals_less(totals_level(s, KF_STAT_taken), left);
}

/* The rounding of small blocks is an estimate from samples. */
static uint64_t small_rounding(const struct kf_snapshot *s, uint64_t small)
{
	double asked = (double)kf_snapshot_stat(s, KF_STAT_asked_sample);
	double given = (double)kf_snapshot_stat(s, KF_STAT_given_sample);

	if (given <= 0 || asked >= given)
		return 0;
	return (uint64_t)((double)small * (1 - asked / given));
}

static void take_from(uint64_t *part, uint64_t *excess)
{
	uint64_t n = KF_MIN(*part, *excess);

	*part -= n;
	*excess -= n;
}

static void totals_balance(struct kf_totals *t)
{
	uint64_t sum =
		t->live + t->rounding + t->cached + t->free + t->metadata;
	uint64_t excess = totals_less(sum, t->held);

	t->free += totals_less(t->held, sum);
	take_from(&t->free, &excess);
	take_from(&t->cached, &excess);
	take_from(&t->rounding, &excess);
	take_from(&t->live, &excess);
	take_from(&t->metadata, &excess);
}

/*
 * The figure of the pages is more recent; the slots' figure includes engines
 * that use no pages.
 */
static uint64_t large_blocks(const struct kf_snapshot *s, uint64_t kept)
{
	int64_t counted =
		(int64_t)(kf_snapshot_stat(s, KF_STAT_large_allocated) -
			  kf_snapshot_stat(s, KF_STAT_large_freed) +
			  kf_snapshot_stat(s, KF_STAT_inherited_large));
	uint64_t word = totals_less(totals_level(s, KF_STAT_large), kept);

	return counted > 0 ? KF_MAX(word, KF_MIN((uint64_t)counted, MAX_LEVEL))
			   : word;
}

void kf_totals_derive(struct kf_snapshot *s)
{
	struct kf_totals *t = &s->totals;
	uint64_t kept = totals_level(s, KF_STAT_large_kept);
	uint64_t large = large_blocks(s, kept);
	uint64_t carved = totals_level(s, KF_STAT_carved);
	uint64_t purged = totals_level(s, KF_STAT_purged);
	uint64_t small;

	*t = (struct kf_totals){0};
	small = sum_classes(s, t);
	small = totals_less(small, totals_level(s, KF_STAT_class_slack));
	t->allocated = kf_sum(t->allocated,
			      kf_snapshot_stat(s, KF_STAT_large_allocated));
	t->freed = kf_sum(t->freed, kf_snapshot_stat(s, KF_STAT_large_freed));

	t->rounding =
		totals_level(s, KF_STAT_large_slack) + small_rounding(s, small);
	t->rounding = KF_MIN(t->rounding, small + large);
	t->live = small + large - t->rounding;
	t->cached = totals_less(carved, small) + kept;
	t->free = totals_less(totals_level(s, KF_STAT_free_runs), purged) +
		  totals_less(totals_level(s, KF_STAT_slabs), carved);
	t->metadata = totals_level(s, KF_STAT_metadata);
	t->held = totals_less(totals_level(s, KF_STAT_mapped), purged) +
		  totals_level(s, KF_STAT_elsewhere);
	totals_balance(t);
	t->knows_bins = kf_snapshot_counter(s, KF_STAT_taken);
	t->bins = KF_MIN(totals_bins(s), totals_less(t->cached, kept));
}
