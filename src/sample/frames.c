/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The outer frames of deep stacks: a tree in the stats file, in which stacks
 * with the same callers share entries.
 *
 * Entries are taken in order and stay. A private hash table with lists finds
 * them again, so what another process writes into the file can only keep an
 * entry from being found. A thread fills an entry before it puts it on its list
 * with one compare and swap. When another thread was first with the same frame,
 * the entry stays unused.
 */
#include "sample/internal.h"

#include "base/bits.h"
#include "stats/stats.h"
#include "sys/vm.h"

#define LEAST_LISTS 4096
#define FRAMES_PER_LIST 32 /* when all entries are taken */

/* Entries for each stack that the table may have. */
#define FRAMES_PER_STACK 32

/* The largest entry that fits in the flags of a stack. */
#define MOST_FRAMES ((1u << (32 - KF_STACK_OUTER_SHIFT)) - 1)

static struct {
	/* @nr_lists first entries, then the next entry of each; each atomic. */
	uint32_t *word;	   /* atomic; constant once set */
	uint32_t nr_lists; /* a power of two; constant once set; atomic */
	uint32_t taken;	   /* entries taken, with entry 0; atomic */
} tree;

static uint32_t nr_frames_max(uint32_t max_stacks)
{
	uint64_t nr = (uint64_t)FRAMES_PER_STACK * max_stacks;

	return (uint32_t)KF_MIN(nr, (uint64_t)MOST_FRAMES);
}

static uint32_t *frames_words(uint32_t max)
{
	size_t lists =
		KF_MAX(kf_pow2_up(max / FRAMES_PER_LIST), (size_t)LEAST_LISTS);
	size_t bytes = (lists + max + 1) * sizeof(uint32_t);
	uint32_t *word = kf_load_acquire(&tree.word), *other = NULL;

	if (likely(word))
		return word;
	/* each thread stores the same number */
	kf_store(&tree.nr_lists, (uint32_t)lists);
	bytes = KF_ALIGN_UP(bytes, KF_PAGE);
	word = kf_vm_map(bytes, KF_PAGE);
	if (!word || kf_cas(&tree.word, &other, word))
		return word;
	kf_vm_drop(word, bytes);
	return other;
}

static struct kf_stats_frame *frame_at(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_frame *all = kf_stats_area(KF_AREA_FRAMES, &nr);

	return i < nr ? &all[i] : NULL;
}

static uint32_t *frame_list(uint32_t *word, uint64_t address, uint32_t parent)
{
	uint64_t hash =
		(address ^ (uint64_t)parent << 40) * 0x9e3779b97f4a7c15ULL;

	return &word[hash >> (64 - kf_ilog2(kf_load(&tree.nr_lists)))];
}

/* The next entry on the list of entry @i. */
static uint32_t *frame_next(uint32_t *word, uint32_t i)
{
	return &word[kf_load(&tree.nr_lists) + i];
}

/* Search a list from entry @i up to entry @end, which is not looked at. */
static uint32_t frame_find(uint32_t *word, uint32_t i, uint32_t end,
			   uint64_t address, uint32_t parent)
{
	for (; i != end; i = kf_load_acquire(frame_next(word, i))) {
		const struct kf_stats_frame *f = frame_at(i);

		if (f && kf_load(&f->address) == address && f->parent == parent)
			break;
	}
	return i != end ? i : 0;
}

/* A new entry; 0: all are taken. */
static uint32_t frame_take(uint32_t max)
{
	uint32_t i = kf_load(&tree.taken);

	do {
		if (i == max || !kf_stats_area_grow(KF_AREA_FRAMES, i + 2))
			return 0;
	} while (!kf_cas(&tree.taken, &i, i + 1));
	return i + 1;
}

static uint32_t frame_intern(uint32_t *word, uint64_t address, uint32_t parent,
			     uint32_t max)
{
	uint32_t *list = frame_list(word, address, parent);
	uint32_t first = kf_load_acquire(list);
	uint32_t found = frame_find(word, first, 0, address, parent);
	struct kf_stats_frame *f;
	uint32_t i, before;

	if (found)
		return found;
	i = frame_take(max);
	if (!i)
		return 0;
	f = frame_at(i);
	f->parent = parent;
	/* readers in other processes: an entry with an address is whole */
	kf_store_release(&f->address, address);
	do {
		before = first;
		kf_store(frame_next(word, i), first);
		if (kf_cas(list, &first, i))
			return i;
		found = frame_find(word, first, before, address, parent);
	} while (!found);
	return found;
}

uint32_t kf_frames_intern(const uint64_t *frame, uint32_t nr,
			  uint32_t max_stacks)
{
	uint32_t max = nr_frames_max(max_stacks);
	uint32_t *word = frames_words(max);
	uint32_t at = 0;

	while (word && nr-- > 0) {
		at = frame_intern(word, frame[nr], at, max);
		if (!at)
			return 0;
	}
	return at;
}
