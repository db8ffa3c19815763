/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How old the live blocks of a stack are, and how long the freed ones lived, by
 * samples.
 *
 * Both together tell a leak from churn: of blocks that get old in a leak none
 * die, and more keep coming.
 */
#ifndef KF_READER_AGES_H
#define KF_READER_AGES_H

#include "reader/estimate.h"
#include "reader/reader.h"

struct kf_ages {
	uint64_t samples;	    /* live ones that have an age */
	uint64_t oldest_ns;	    /* age of the oldest; 0: there is none */
	uint64_t mean_ns;	    /* of the live bytes */
	struct kf_estimate foreign; /* freed bytes: by another thread than
				       allocated */
	struct {
		struct kf_estimate live;
		struct kf_estimate freed; /* by lifetime */
	} span[KF_STATS_SPANS];
};

/* What becomes of the blocks of a stack. */
enum kf_ages_kind {
	KF_AGES_UNKNOWN, /* too few samples, or all are too young */
	KF_AGES_GROWS,	 /* old blocks stay, and more keep coming */
	KF_AGES_STAYS,	 /* old blocks stay, and few have come since */
	KF_AGES_CHURNS,	 /* blocks that get old are freed */
	KF_NR_AGES_KINDS
};

/**
 * kf_ages_now() - the time to which ages are counted
 * @s:		a snapshot, with KF_TABLE_AGES
 * @alive:	whether its process runs
 *
 * Return: CLOCK_MONOTONIC, ns; of a process that has ended, the last time that
 *	   its file tells.
 */
uint64_t kf_ages_now(const struct kf_snapshot *s, bool alive);

/**
 * kf_ages_of() - the ages of all stacks
 * @s:		a snapshot, with KF_TABLE_STACKS and KF_TABLE_AGES
 * @now_ns:	of kf_ages_now()
 *
 * Return: as many as there are stacks; free() them. NULL when out of memory.
 */
struct kf_ages *kf_ages_of(const struct kf_snapshot *s, uint64_t now_ns);

/**
 * kf_ages_add() - add the ages of a stack to those of another one
 * @to:		the sum
 * @from:	the other one
 */
void kf_ages_add(struct kf_ages *to, const struct kf_ages *from);

/**
 * kf_ages_live() - bytes of the live samples that have an age
 * kf_ages_freed() - bytes of the freed samples
 * @a:		the ages
 * @span:	of spans up to this one
 *
 * Return: the estimate.
 */
struct kf_estimate kf_ages_live(const struct kf_ages *a, unsigned int span);
struct kf_estimate kf_ages_freed(const struct kf_ages *a, unsigned int span);

/**
 * kf_ages_kind() - what becomes of the blocks of a stack
 * @a:		its ages
 *
 * Return: the kind.
 */
enum kf_ages_kind kf_ages_kind(const struct kf_ages *a);

/**
 * kf_ages_kind_name() - the name of a kind
 * @kind:	the kind
 *
 * Return: the name; "" for KF_AGES_UNKNOWN.
 */
const char *kf_ages_kind_name(enum kf_ages_kind kind);

#endif
