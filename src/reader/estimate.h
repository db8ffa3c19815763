/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates of all blocks by samples, and their errors.
 *
 * A sum of weights is an estimate without bias; its variance is known from the
 * samples themselves, and estimates of different stacks add up as their
 * variances do. The interval is the normal one: with fewer than about ten
 * samples take it for an order of magnitude.
 */
#ifndef KF_READER_ESTIMATE_H
#define KF_READER_ESTIMATE_H

#include "reader/reader.h"

/* Of a stack's blocks; bytes, or numbers of blocks. */
enum kf_estimate_kind {
	KF_ESTIMATE_LIVE,
	KF_ESTIMATE_ALLOCATED, /* ever */
	KF_ESTIMATE_PEAK,
	KF_ESTIMATE_LIVE_BLOCKS,
	KF_ESTIMATE_ALLOCATED_BLOCKS,
	KF_ESTIMATE_PEAK_BLOCKS,
};

struct kf_estimate {
	double value;
	double variance;
};

/**
 * kf_estimate_stack() - an estimate of one stack
 * @stack:	the entry
 * @kind:	of what
 *
 * The table has the variance of bytes. The variance of blocks is taken to be in
 * proportion, which is right if all blocks of a stack have one size.
 *
 * Return: the estimate.
 */
struct kf_estimate kf_estimate_stack(const struct kf_stats_stack *stack,
				     enum kf_estimate_kind kind);

/**
 * kf_estimate_live() - bytes of all live blocks that were allocated while
 *			samples were taken
 * @s:		a snapshot, of any tables
 *
 * Return: the estimate; 0 where there were no samples.
 */
struct kf_estimate kf_estimate_live(const struct kf_snapshot *s);

/* The sum of two estimates. */
static inline struct kf_estimate kf_estimate_sum(struct kf_estimate a,
						 struct kf_estimate b)
{
	return (struct kf_estimate){a.value + b.value, a.variance + b.variance};
}

/**
 * kf_estimate_error() - the error of an estimate
 * @e:		the estimate
 *
 * Return: half the width of the 95 % confidence interval; its part below 0 is
 *	   impossible.
 */
double kf_estimate_error(struct kf_estimate e);

#endif
