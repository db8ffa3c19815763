/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates by samples: see estimate.h.
 */
#include "reader/estimate.h"

#include <math.h>

#define NORMAL_95 1.96 /* standard deviations */

/* Counters of a running process may be from slightly different times. */
static double estimate_difference(uint64_t more, uint64_t less)
{
	return more > less ? (double)(more - less) : 0;
}

static double estimate_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static struct kf_estimate stack_bytes(const struct kf_stats_stack *s,
				      enum kf_estimate_kind kind)
{
	double all = (double)s->allocated;
	double variance = (double)s->variance * KF_STATS_VARIANCE_UNIT;

	switch (kind) {
	case KF_ESTIMATE_LIVE:
	case KF_ESTIMATE_LIVE_BLOCKS:
		return (struct kf_estimate){
			estimate_difference(s->allocated, s->freed),
			estimate_difference(s->variance, s->freed_variance) *
				KF_STATS_VARIANCE_UNIT};
	case KF_ESTIMATE_PEAK:
	case KF_ESTIMATE_PEAK_BLOCKS:
		return (struct kf_estimate){
			(double)s->peak,
			variance * estimate_share((double)s->peak, all)};
	case KF_ESTIMATE_ALLOCATED:
	case KF_ESTIMATE_ALLOCATED_BLOCKS:
		break;
	}
	return (struct kf_estimate){all, variance};
}

/* The variance of blocks, taken to be in proportion to that of bytes. */
static struct kf_estimate blocks_like(struct kf_estimate bytes, double blocks)
{
	double each =
		estimate_share(blocks / KF_STATS_BLOCK_PARTS, bytes.value);

	return (struct kf_estimate){blocks / KF_STATS_BLOCK_PARTS,
				    bytes.variance * each * each};
}

struct kf_estimate kf_estimate_stack(const struct kf_stats_stack *s,
				     enum kf_estimate_kind kind)
{
	struct kf_estimate bytes = stack_bytes(s, kind);

	switch (kind) {
	case KF_ESTIMATE_LIVE_BLOCKS:
		return blocks_like(bytes,
				   estimate_difference(s->allocated_blocks,
						       s->freed_blocks));
	case KF_ESTIMATE_ALLOCATED_BLOCKS:
		return blocks_like(bytes, (double)s->allocated_blocks);
	case KF_ESTIMATE_PEAK_BLOCKS:
		return blocks_like(bytes, (double)s->peak_blocks);
	default:
		return bytes;
	}
}

struct kf_estimate kf_estimate_live(const struct kf_snapshot *s)
{
	return (struct kf_estimate){
		(double)kf_snapshot_value(s, "sample_live"),
		(double)kf_snapshot_value(s, "sample_variance") *
			KF_STATS_VARIANCE_UNIT};
}

double kf_estimate_error(struct kf_estimate e)
{
	return NORMAL_95 * sqrt(e.variance);
}
