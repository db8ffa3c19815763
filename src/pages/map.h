/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The address map: which run does an address belong to.
 *
 * Two levels over granules of 16 KiB. Roots say how many entries behind the
 * empty leaf theirs lies, entries how many bytes behind the map their run, so
 * that a map of zeroes says "foreign" for every address without having been
 * initialised and without a test on the way: two loads and two additions,
 * before main() too. Entries are written under the pages lock (or for memory
 * nobody else knows yet) and read without any.
 */
#ifndef KF_PAGES_MAP_H
#define KF_PAGES_MAP_H

#include "pages/run.h"

#define KF_LEAF_SHIFT 30 /* a leaf is for a GiB of addresses */
#define KF_MAP_ROOTS ((size_t)1 << (KF_ADDRESS_BITS - KF_LEAF_SHIFT))
#define KF_MAP_ENTRIES ((size_t)1 << (KF_LEAF_SHIFT - KF_GRANULE_SHIFT))

/*
 * @foreign: the run that all other addresses belong to; kind NONE.
 * @empty: the leaf of address space without any run of ours.
 */
struct kf_map {
	struct kf_run foreign;
	uint64_t engine_part[KF_CACHE_LINE / 8];
	uintptr_t root[KF_MAP_ROOTS];
	uintptr_t empty[KF_MAP_ENTRIES];
};

extern struct kf_map kf_map;

static __always_inline_kf size_t kf_map_root(const void *p)
{
	uintptr_t bits;

	kf_shift_left(bits, (uintptr_t)p, 64 - KF_ADDRESS_BITS);
	return bits >> (64 - KF_ADDRESS_BITS + KF_LEAF_SHIFT);
}

/* The entry for @p: a run, a region's stand-in or the foreign run. */
static __always_inline_kf struct kf_run *kf_map_get(const void *p)
{
	uintptr_t base = (uintptr_t)&kf_map;
	uint32_t bits = (uint32_t)(uintptr_t)p << (32 - KF_LEAF_SHIFT);
	uintptr_t entry = kf_glance(&kf_map.root[kf_map_root(p)]);

	/* Otherwise the two shifts become three instructions. */
	__asm__("" : "+r"(bits));
	entry += bits >> (KF_GRANULE_SHIFT + 32 - KF_LEAF_SHIFT);
	entry = base + offsetof(struct kf_map, empty) + entry * sizeof(entry);
	/* pairs with the release store of kf_map_set() */
	return (struct kf_run *)(base + kf_glance((const uintptr_t *)entry));
}

/**
 * kf_map_set() - name the run of some granules
 * @start:	first granule
 * @size:	bytes, rounded up to granules
 * @run:	the run, or NULL for foreign
 *
 * Context: the caller holds the pages lock or alone knows the memory.
 * Return: false when the kernel has no memory for the map; nothing changed.
 *	   Never false for a @run of NULL.
 */
bool kf_map_set(const void *start, size_t size,
		struct kf_run *run) __must_check;

/**
 * kf_map_find() - the run that an address lies in
 * @p:		any address
 *
 * Context: any; for an address in a live block the answer is stable.
 * Return: the run whose first or last page holds @p, a slab, or NULL. Pages
 *	   in the middle of a large run have no entry.
 */
struct kf_run *kf_map_find(const void *p);

#endif
