/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The address map finds the run of an address.
 *
 * The map has two levels over granules of a page. A root is the distance of its
 * leaf from the empty leaf in entries; an entry is the distance of its run from
 * the map in bytes. So a map of zeroes maps every address to the foreign run
 * without initialisation and without a test: a lookup is two loads and two
 * additions, before main() too. Entries are written under the pages lock (or
 * for memory that no other thread knows yet) and read without a lock.
 *
 * The map knows the lower 44 bits of an address and so takes 1.5 MiB of
 * addresses. No two addresses chosen by the kernel have these bits in common
 * (the program and its heap, mappings from the top or, where the stack has no
 * limit, from a third of the addresses on). So a foreign address with the lower
 * bits of a run was chosen by the program, or is garbage that faults when it is
 * read. All functions except the fast free compare the other bits too.
 */
#ifndef KF_PAGES_MAP_H
#define KF_PAGES_MAP_H

#include "pages/run.h"

#define KF_MAP_BITS 44
#define KF_LEAF_SHIFT 28 /* a leaf is for 256 MiB of addresses */
#define KF_MAP_ROOTS ((size_t)1 << (KF_MAP_BITS - KF_LEAF_SHIFT))
#define KF_MAP_ENTRIES ((size_t)1 << (KF_LEAF_SHIFT - KF_GRANULE_SHIFT))

_Static_assert(KF_MAP_ENTRIES == 1 << 16, "a leaf's index is a half word");
_Static_assert(KF_MAP_BITS - KF_GRANULE_SHIFT == 32, "an index is a word");

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

/* The index of an address in the root table. */
static __always_inline_kf size_t kf_map_root(const void *p)
{
	return (uint32_t)((uintptr_t)p >> KF_GRANULE_SHIFT) >> 16;
}

/*
 * The entry for @p: a run, a region's stand-in or the foreign run. For a
 * foreign address that differs from one of ours in its upper bits only, the
 * entry of the latter.
 */
static __always_inline_kf struct kf_run *kf_map_peek(const void *p)
{
	uintptr_t base = (uintptr_t)&kf_map, entry;
	uintptr_t granule = (uintptr_t)p >> KF_GRANULE_SHIFT;
	uintptr_t low;
	uint32_t high;

	/* Without hiding, the compiler needs two more instructions. */
	kf_hide(granule);
	low = (uint16_t)granule;
	kf_hide(low);
	high = (uint32_t)granule >> 16;
	entry = KF_READ_ONCE(&kf_map.root[high]) + low;
	entry = base + offsetof(struct kf_map, empty) + entry * sizeof(entry);
	/* pairs with the release store of kf_map_set() */
	return (struct kf_run *)(base + KF_READ_ONCE((const uintptr_t *)entry));
}

/* The entry for @p: a run, a region's stand-in or the foreign run. */
static inline struct kf_run *kf_map_get(const void *p)
{
	struct kf_run *run = kf_map_peek(p);
	uintptr_t upper = (uintptr_t)run->start >> KF_MAP_BITS;

	return likely((uintptr_t)p >> KF_MAP_BITS == upper) ? run
							    : &kf_map.foreign;
}

/**
 * kf_map_set() - enter the run of some granules
 * @start:	first granule
 * @size:	bytes, rounded up to granules
 * @run:	the run, whose start is set
 *
 * Context: the caller holds the pages lock or no other thread knows the memory.
 * Return: false when the kernel has no memory for the map, or another run has
 *	   the lower bits of these addresses; nothing changed.
 */
bool kf_map_set(const void *start, size_t size,
		struct kf_run *run) __must_check;

/**
 * kf_map_rename() - replace the run of granules that have an entry
 * @start:	first granule
 * @size:	bytes, rounded up to granules
 * @run:	the run, whose start is set
 *
 * Needs no memory: kf_map_set() made the leaves, which stay.
 *
 * Context: as kf_map_set().
 */
void kf_map_rename(const void *start, size_t size, struct kf_run *run);

/**
 * kf_map_clear() - make granules foreign
 * @start:	first granule
 * @size:	bytes, rounded up to granules
 *
 * Context: as kf_map_set().
 */
void kf_map_clear(const void *start, size_t size);

/**
 * kf_map_find() - the run that an address lies in
 * @p:		any address
 *
 * Context: any; for an address in a live block the answer is stable.
 * Return: the run whose first or last page holds @p, a slab, or NULL. Pages
 *	   in the middle of a large run have no entry.
 */
struct kf_run *kf_map_find(const void *p);

/**
 * kf_map_trim() - purge the pages of the map without entries
 *
 * Context: the caller holds the pages lock, so that no fork happens meanwhile.
 *	   A thread that enters a run without the lock waits for the purge.
 */
void kf_map_trim(void);

#endif
