/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which small classes have slabs of their own: see share.h.
 */
#include "heap/share.h"

/*
 * Requests of a class that shares until it is looked at: twice as many each
 * time that it goes on to share, as a look costs as much as twenty of them.
 */
#define FIRST_USES 64
#define MOST_USES 240

/* A class is to have slabs of its own if so many of its blocks live, */
#define MANY 64

/* or if it is one in so many of the blocks that its heap gave. */
#define OFTEN 16

/*
 * Without counters nobody knows either: what these cost is measured where no
 * class shares.
 */
#ifndef KF_SHARE
#define KF_SHARE 1
#endif

unsigned int kf_share_last(unsigned int class)
{
	unsigned int nr = class < 8 ? 1 : 1u << (kf_ilog2(class) - 2);

	return KF_ALIGN_UP(class, nr);
}

static uint32_t count_given(const struct kf_heap *heap)
{
	uint32_t nr = 0;

	for (unsigned int class = 1; class <= KF_NR_TINY; class ++)
		nr += (uint32_t)heap->front.slot->class[class].mallocs;
	return nr;
}

/*
 * Whether a class is to have slabs of its own. It is if MANY of the blocks that
 * live are its own, where its part in them is as in those given since the last
 * look; a few would leave a slab empty for the most part. And it is if it asks
 * so often that the way to another's blocks would be felt.
 */
static bool is_to_part(const struct kf_heap *heap, const struct kf_sharer *s)
{
	const struct kf_stats_pair *pair = &heap->front.slot->class[s->of];
	int64_t live = (int64_t)(pair->mallocs - pair->frees);
	uint32_t given = (uint32_t)pair->mallocs - s->given;

	return count_given(heap) - s->all < OFTEN * s->uses ||
	       live * s->uses >= (int64_t)given * MANY;
}

bool kf_share_is_rare(struct kf_heap *heap, unsigned int class)
{
	struct kf_share *share = &heap->share[class];
	struct kf_sharer *s = &heap->sharer[class];

	if (!KF_SHARE || s->parted)
		return false;
	if (!share->left) {
		/* With marks each such request goes the long way. */
		s->parted = s->of && (heap->marks || is_to_part(heap, s));
		s->of = 0;
		s->uses = s->uses ? KF_MIN(2 * s->uses, MOST_USES) : FIRST_USES;
		share->left = s->uses;
	}
	share->left--;
	share->to = 0;
	return !s->parted;
}

void kf_share_begin(struct kf_heap *heap, unsigned int class,
		    unsigned int found)
{
	struct kf_share *share = &heap->share[class];
	struct kf_sharer *s = &heap->sharer[class];
	unsigned int last = kf_share_last(class);
	unsigned int other =
		last > class && heap->nr_slabs[last] ? last : found;

	if (!s->of) {
		s->of = (uint8_t)other;
		s->given = (uint32_t)heap->front.slot->class[other].mallocs;
		s->all = count_given(heap);
	}
	if (share->left && !heap->marks && !heap->nr_slabs[class])
		share->to = (uint8_t)other;
}
