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

/* Samples whose stacks are not whole. */
struct kf_stacks_lost {
	uint64_t stacks; /* no room for the stack */
	uint64_t outer;	 /* no room for its outer calls */
	uint64_t blind;	 /* the stack follows frame pointers only */
	uint64_t calls;	 /* calls of an interpreter are missing */
	uint64_t unsure; /* it is not known which code it passed through */
};

#define KF_STACKS_LOST_TEXT 592

/**
 * kf_stacks_lost_add() - count the samples of a stack
 * @lost:	the counts
 * @flags:	of the stack, enum kf_stack_flags
 * @generation:	of the stack, see struct kf_stats_stack
 * @samples:	how many
 */
void kf_stacks_lost_add(struct kf_stacks_lost *lost, uint32_t flags,
			uint32_t generation, uint64_t samples);

/**
 * kf_stacks_lost_text() - say how many samples lack their stacks, and why
 * @lost:	the counts
 * @text:	out: sentences without a full stop
 * @size:	bytes of @text; KF_STACKS_LOST_TEXT are enough
 *
 * Return: false if none does.
 */
bool kf_stacks_lost_text(const struct kf_stacks_lost *lost, char *text,
			 size_t size);

/**
 * kf_stacks_lost_say() - the same of all stacks of a snapshot
 * @s:		the snapshot, with KF_TABLE_STACKS
 * @text:	as kf_stacks_lost_text()
 * @size:	likewise
 *
 * Return: as kf_stacks_lost_text().
 */
bool kf_stacks_lost_say(const struct kf_snapshot *s, char *text, size_t size);

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

/**
 * kf_estimate_is_poor() - whether an estimate is hardly one
 * @e:		the estimate
 *
 * Return: true if its error is as large as its value, as of three samples.
 */
bool kf_estimate_is_poor(struct kf_estimate e);

#define KF_SAMPLE_HINT 128

/**
 * kf_sample_hint() - say how to take more samples
 * @text:	out: the command and what it does
 * @size:	bytes of @text; KF_SAMPLE_HINT are enough
 * @command:	the command, up to the distance of samples
 * @mean:	the mean distance of the samples so far, bytes; 0: unknown
 *
 * Return: @text.
 */
char *kf_sample_hint(char *text, size_t size, const char *command,
		     uint64_t mean);

#endif
