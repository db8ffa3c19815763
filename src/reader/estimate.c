/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates by samples: see estimate.h.
 */
#include "reader/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NORMAL_95 1.96 /* standard deviations */

#define HINT_TIMES 16		       /* as many samples */
#define HINT_USUAL ((uint64_t)1 << 19) /* bytes, a distance */
#define HINT_LEAST ((uint64_t)1 << 10) /* shorter ones are not accepted */

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

bool kf_estimate_is_poor(struct kf_estimate e)
{
	return e.value > 0 && kf_estimate_error(e) >= e.value;
}

char *kf_sample_hint(char *text, size_t size, const char *command,
		     uint64_t mean)
{
	uint64_t least = (mean ? mean : HINT_USUAL) / HINT_TIMES;
	uint64_t distance = HINT_LEAST;

	if (least < HINT_LEAST) {
		snprintf(text, size, "%s1 samples every block", command);
		return text;
	}
	while (distance <= least / 2)
		distance *= 2;
	snprintf(text, size, "%s%" PRIu64 "K takes at least %d times as many",
		 command, distance >> 10, HINT_TIMES);
	return text;
}

void kf_stacks_lost_add(struct kf_stacks_lost *lost, uint32_t flags,
			uint32_t generation, uint64_t samples)
{
	if (flags & KF_STACK_OVERFLOW)
		lost->stacks += samples;
	else if (flags & KF_STACK_NO_OUTER)
		lost->outer += samples;
	if (flags & KF_STACK_NO_TABLES)
		lost->blind += samples;
	if (flags & KF_STACK_NO_CALLS)
		lost->calls += samples;
	if (generation == KF_GENERATION_UNSURE)
		lost->unsure += samples;
}

/* Adds a part of a line, with a separator. */
static void lost_add(char *text, size_t size, const char *part)
{
	size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%s", len ? "; " : "", part);
}

bool kf_stacks_lost_text(const struct kf_stacks_lost *lost, char *text,
			 size_t size)
{
	char part[128];

	text[0] = '\0';
	if (lost->stacks) {
		snprintf(part, sizeof(part),
			 "%" PRIu64 " samples were counted without their "
			 "stacks: the table of stacks was full",
			 lost->stacks);
		lost_add(text, size, part);
	}
	if (lost->outer) {
		snprintf(part, sizeof(part),
			 "%" PRIu64 " samples lack outer calls: the table of "
			 "calls was full",
			 lost->outer);
		lost_add(text, size, part);
	}
	if (text[0])
		lost_add(text, size, "KONFISCATOR_SAMPLE_STACKS sets its size");
	if (lost->calls) {
		snprintf(part, sizeof(part),
			 "%" PRIu64 " samples lack calls of Python: they could "
			 "not be read, or their table was full",
			 lost->calls);
		lost_add(text, size, part);
	}
	if (lost->unsure) {
		snprintf(part, sizeof(part),
			 "some calls of %" PRIu64
			 " samples have no names: objects "
			 "were loaded and closed at their addresses",
			 lost->unsure);
		lost_add(text, size, part);
	}
	if (lost->blind)
		lost_add(text, size,
			 "record --ebpf, glibc before 2.35, or a library built "
			 "with it or with GCC before 12: stacks by frame "
			 "pointers only");
	return text[0];
}

bool kf_stacks_lost_say(const struct kf_snapshot *s, char *text, size_t size)
{
	struct kf_stacks_lost lost = {0};

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct kf_stats_stack *st = &s->stacks[i];

		if (st->hash)
			kf_stacks_lost_add(&lost, st->flags,
					   kf_stats_generation(st),
					   st->samples);
	}
	return kf_stacks_lost_text(&lost, text, size);
}
