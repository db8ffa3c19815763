/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the heap of a process grew, by the moments of its stats file.
 */
#ifndef KF_READER_GROWTH_H
#define KF_READER_GROWTH_H

#include "reader/reader.h"

#define KF_GROWTH_PARTS 4
#define KF_GROWTH_LAST_NS ((uint64_t)600000000000) /* the last minutes */

struct kf_span {
	uint64_t least, most; /* bytes in use; UINT64_MAX and 0: not known */
};

/**
 * kf_span_widen() - let a span hold a value
 * @span:	the span
 * @used:	the value
 */
void kf_span_widen(struct kf_span *span, uint64_t used);

/* The last minutes of a process; the whole life where it is shorter. */
struct kf_growth {
	double seconds;
	uint64_t first; /* bytes in use at the begin */
	uint64_t last;	/* ... and at the end */
	uint64_t held;	/* most bytes held until the begin */
	struct kf_span part[KF_GROWTH_PARTS]; /* of equal time, the first first
					       */
	struct kf_span whole;
};

/**
 * kf_snapshot_seen() - when a process was last seen to be there
 * @s:		its snapshot, with KF_TABLE_MOMENTS; with KF_TABLE_EVENTS its
 *		events count too
 *
 * Return: CLOCK_MONOTONIC in ns, not before the file; 0: it is not known.
 */
uint64_t kf_snapshot_seen(const struct kf_snapshot *s);

/**
 * kf_snapshot_end() - what a process had at its end, as a moment
 * @s:		its snapshot
 *
 * Return: the moment; its time is kf_snapshot_seen().
 */
struct kf_stats_moment kf_snapshot_end(const struct kf_snapshot *s);

/**
 * kf_growth_of() - how a process grew in its last minutes
 * @s:		its snapshot, with KF_TABLE_MOMENTS
 * @g:		out
 *
 * Return: false if the file has no moments before the end.
 */
bool kf_growth_of(const struct kf_snapshot *s, struct kf_growth *g);

#endif
