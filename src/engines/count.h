/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the host counts blocks. In an attached process (kf_host_know()) only the
 * blocks that the library has seen come are counted; the frees of others are
 * counted apart.
 */
#ifndef KF_ENGINES_COUNT_H
#define KF_ENGINES_COUNT_H

#include "engines/engine.h"
#include "engines/marks.h"
#include "engines/tally.h"

/* Only known blocks are counted. Constant once calls come. */
extern bool kf_count_knows __kf_hidden;

static inline void count_tally_gone(const struct kf_counters *c, size_t usable)
{
	kf_tally_gone(c->slot, c->shared, usable,
		      kf_engine->base.flags & KONF_ENGINE_ELSEWHERE);
}

static inline void count_tally_new(const struct kf_counters *c, size_t asked,
				   size_t usable)
{
	kf_tally_new(c->slot, c->shared, asked, usable,
		     kf_engine->base.flags & KONF_ENGINE_ELSEWHERE);
}

static inline void count_apart(void)
{
	kf_word_add_atomic(KF_WORD_unknown_frees, 1);
}

/**
 * kf_count_new() - count a new block, and know it
 * @c:		the thread's counters
 * @p:		the block
 * @asked:	bytes asked
 * @usable:	its usable bytes
 *
 * A block that cannot be known is not counted.
 *
 * Context: the block's owner.
 * Return: whether it is counted.
 */
static inline bool kf_count_new(const struct kf_counters *c, const void *p,
				size_t asked, size_t usable)
{
	if (unlikely(kf_count_knows) && !kf_known_put(p))
		return false;
	count_tally_new(c, asked, usable);
	return true;
}

/**
 * kf_count_gone() - count a block that is about to be freed
 * @c:		the thread's counters
 * @p:		the block
 * @usable:	its usable bytes
 *
 * Context: the block's owner.
 */
static inline void kf_count_gone(const struct kf_counters *c, const void *p,
				 size_t usable)
{
	if (unlikely(kf_count_knows) && !kf_known_take(p))
		count_apart();
	else
		count_tally_gone(c, usable);
}

/**
 * kf_count_takes() - a block is about to be resized
 * @p:		the block
 *
 * Context: the block's owner; kf_count_resized() comes next.
 * Return: whether the block is counted.
 */
static inline bool kf_count_takes(const void *p)
{
	return !unlikely(kf_count_knows) || kf_known_take(p);
}

/**
 * kf_count_resized() - count a resized block
 * @p:		the block that it was
 * @had:	usable bytes of that
 * @asked:	bytes asked
 * @to:		the block; NULL: there was no memory and @p stays
 * @was:	what kf_count_takes() returned
 *
 * A resized block counts as freed and allocated, for its class; other counters
 * let readers subtract these two calls.
 *
 * Context: the block's owner, whose counters are current.
 */
static inline void kf_count_resized(const void *p, size_t had, size_t asked,
				    const void *to, bool was)
{
	const struct kf_counters *c = kf_self.counters;
	const void *stays = to ? to : p;
	size_t usable = to ? kf_engine->base.usable_size(to) : had;
	bool is_known = !unlikely(kf_count_knows);

	if (unlikely(kf_count_knows) && (was || to))
		is_known = kf_known_put(stays);
	if (!was && to) {
		count_apart();
		if (is_known)
			count_tally_new(c, asked, usable);
		if (is_known)
			kf_self_stat(KF_SLOT_realloc_new, 1);
	} else if (was && !is_known) {
		count_tally_gone(c, had);
	} else if (was && (stays != p || usable != had)) {
		count_tally_gone(c, had);
		count_tally_new(c, asked, usable);
		kf_self_stat(stays != p ? KF_SLOT_realloc_moved
					: KF_SLOT_reclassed,
			     1);
	}
}

#endif
