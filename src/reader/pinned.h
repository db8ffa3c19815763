/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the live blocks of tags and stacks pin: free blocks of the same slabs,
 * whose pages cannot go back to the kernel. The process notes it when it is
 * ordered to.
 */
#ifndef KF_READER_PINNED_H
#define KF_READER_PINNED_H

#include "reader/estimate.h"

/* What blocks of a stack pin. */
struct kf_pinned {
	struct kf_estimate bytes;   /* pinned */
	struct kf_estimate blocks;  /* live blocks that pin them */
	struct kf_estimate unknown; /* bytes of live small blocks of which it
				       is not known what they pin */
};

/**
 * kf_pinned_noted() - when the process noted what blocks pin
 * @s:		a snapshot, of any tables
 *
 * Return: CLOCK_MONOTONIC, ns; 0: never.
 */
uint64_t kf_pinned_noted(const struct kf_snapshot *s);

/**
 * kf_pinned_stacks() - what the blocks of each stack pin
 * @s:		a snapshot, with KF_TABLE_STACKS and KF_TABLE_AGES
 *
 * Return: an element for each stack, to free(); NULL: no memory.
 */
struct kf_pinned *kf_pinned_stacks(const struct kf_snapshot *s);

/**
 * kf_pinned_tag() - what the blocks of a tag pin
 * @t:		the tag
 *
 * Return: bytes.
 */
static inline double kf_pinned_tag(const struct kf_stats_tag *t)
{
	return (double)t->pinned / KF_STATS_PINNED_PARTS;
}

#endif
