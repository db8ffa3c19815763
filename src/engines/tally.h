/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts blocks of hosted engines as if the default engine had made them.
 *
 * A block counts in the class of its usable size. The slack, which is the
 * class' size minus the usable size, is counted too, so that live bytes are
 * exact for any engine.
 */
#ifndef KF_ENGINES_TALLY_H
#define KF_ENGINES_TALLY_H

#include "heap/class.h"
#include "heap/heap.h"
#include "stats/stats.h"

static __always_inline_kf void tally_add(uint64_t *word, uint64_t n,
					 bool shared)
{
	if (shared) {
		__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
		return;
	}
	*word += n;
	kf_stays_alone(*word);
}

/* A block of a small class, which is @slack bytes larger than the block. */
static __always_inline_kf void
kf_tally_small_gone(struct kf_slot *slot, bool shared, unsigned int class,
		    size_t usable, size_t slack, bool elsewhere)
{
	tally_add(&slot->class[class].frees, 1, shared);
	if (elsewhere)
		tally_add(&slot->scalar[KF_SLOT_elsewhere], -usable, shared);
	tally_add(&slot->scalar[KF_SLOT_class_slack], -slack, shared);
}

static __always_inline_kf void
kf_tally_small_new(struct kf_slot *slot, bool shared, unsigned int class,
		   size_t asked, size_t usable, size_t slack, bool elsewhere)
{
	tally_add(&slot->class[class].mallocs, 1, shared);
	if (elsewhere)
		tally_add(&slot->scalar[KF_SLOT_elsewhere], usable, shared);
	tally_add(&slot->scalar[KF_SLOT_class_slack], slack, shared);
	tally_add(&slot->scalar[KF_SLOT_asked_sample], asked, shared);
	tally_add(&slot->scalar[KF_SLOT_given_sample], usable, shared);
}

/**
 * kf_tally_gone() - count a freed block
 * kf_tally_new() - count a new block
 * @slot:	where
 * @shared:	whether other threads count there too
 * @asked:	bytes asked
 * @usable:	usable bytes of the block
 * @elsewhere:	whether its memory is not counted as held
 *
 * Context: the slot's thread, or any where it is shared.
 */
static __always_inline_kf void kf_tally_gone(struct kf_slot *slot, bool shared,
					     size_t usable, bool elsewhere)
{
	unsigned int class;
	size_t bytes;

	if (likely(usable <= KF_SMALL_MAX)) {
		class = kf_class_around(usable, &bytes);
		kf_tally_small_gone(slot, shared, class, usable, bytes - usable,
				    elsewhere);
		return;
	}
	tally_add(&slot->class[0].frees, 1, shared);
	if (elsewhere)
		tally_add(&slot->scalar[KF_SLOT_elsewhere], -usable, shared);
	tally_add(&slot->scalar[KF_SLOT_large_freed], usable, shared);
}

static __always_inline_kf void kf_tally_new(struct kf_slot *slot, bool shared,
					    size_t asked, size_t usable,
					    bool elsewhere)
{
	unsigned int class;
	size_t bytes;

	if (likely(usable <= KF_SMALL_MAX)) {
		class = kf_class_around(usable, &bytes);
		kf_tally_small_new(slot, shared, class, asked, usable,
				   bytes - usable, elsewhere);
		return;
	}
	tally_add(&slot->class[0].mallocs, 1, shared);
	if (elsewhere)
		tally_add(&slot->scalar[KF_SLOT_elsewhere], usable, shared);
	tally_add(&slot->scalar[KF_SLOT_large_allocated], usable, shared);
}

#endif
