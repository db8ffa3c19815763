/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The address map: see map.h.
 */
#include "pages/map.h"

#include "pages/pages.h"

#include "stats/stats.h"

#define PAGE_ENTRIES (KF_PAGE / sizeof(uintptr_t))

/*
 * The entries of a GiB. Few of its pages are ever written: they count as
 * metadata from then on, for until then they cost only addresses.
 */
struct leaf {
	uintptr_t entry[KF_MAP_ENTRIES];
	uint8_t written[KF_MAP_ENTRIES / PAGE_ENTRIES]; /* atomic; by page */
};

#define LEAF_BYTES KF_ALIGN_UP(sizeof(struct leaf), KF_PAGE)

struct kf_map kf_map;

static struct leaf *leaf_of(const void *p)
{
	uintptr_t off =
		__atomic_load_n(&kf_map.root[kf_map_root(p)], __ATOMIC_ACQUIRE);

	return off ? (struct leaf *)((uintptr_t)kf_map.empty +
				     off * sizeof(uintptr_t))
		   : NULL;
}

static void count(const void *addr)
{
	kf_pages_count_map(addr, KF_PAGE);
	kf_word_add_atomic(KF_WORD_metadata, KF_PAGE);
}

/* Two threads may race here during a fork: one leaf wins, the other goes. */
static struct leaf *make_leaf(const void *p)
{
	uintptr_t *slot = &kf_map.root[kf_map_root(p)];
	uintptr_t none = 0;
	struct leaf *leaf = kf_vm_map(LEAF_BYTES, KF_PAGE);
	intptr_t behind;

	if (!leaf)
		return NULL;
	behind = (intptr_t)leaf - (intptr_t)kf_map.empty;
	if (!__atomic_compare_exchange_n(
		    slot, &none,
		    (uintptr_t)(behind / (intptr_t)sizeof(uintptr_t)), false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		kf_vm_drop(leaf, LEAF_BYTES);
		return leaf_of(p);
	}
	count(leaf->written);
	return leaf;
}

static bool make_leaves(uintptr_t first, uintptr_t last)
{
	for (uintptr_t p = first >> KF_LEAF_SHIFT; p <= last >> KF_LEAF_SHIFT;
	     p++) {
		const void *addr = (const void *)(p << KF_LEAF_SHIFT);

		if (!leaf_of(addr) && !make_leaf(addr))
			return false;
	}
	return true;
}

static void set(struct leaf *leaf, size_t i, uintptr_t value)
{
	uint8_t *written = &leaf->written[i / PAGE_ENTRIES];

	if (!__atomic_load_n(written, __ATOMIC_RELAXED)) {
		if (!value)
			return;
		if (!__atomic_exchange_n(written, 1, __ATOMIC_RELAXED))
			count(&leaf->entry[KF_ALIGN_DOWN(i, PAGE_ENTRIES)]);
	}
	__atomic_store_n(&leaf->entry[i], value, __ATOMIC_RELEASE);
}

bool kf_map_set(const void *start, size_t size, struct kf_run *run)
{
	uintptr_t first = (uintptr_t)start;
	uintptr_t last = first + size - 1;
	uintptr_t value = run ? (uintptr_t)run - (uintptr_t)&kf_map : 0;

	if (run && !make_leaves(first, last))
		return false;
	for (uintptr_t p = first; p <= last; p += KF_GRANULE) {
		struct leaf *leaf = leaf_of((const void *)p);

		if (leaf)
			set(leaf, (p >> KF_GRANULE_SHIFT) % KF_MAP_ENTRIES,
			    value);
	}
	return true;
}

struct kf_run *kf_map_find(const void *p)
{
	struct kf_run *run = kf_map_get(p);
	struct kf_region *region;

	if (run->kind == KF_RUN_NONE)
		return NULL;
	if (run->kind != KF_RUN_REGION)
		return run;
	region = kf_container_of(run, struct kf_region, stand_in);
	if ((const char *)p < region->base ||
	    kf_page_index(region, p) >=
		    __atomic_load_n(&region->committed, __ATOMIC_RELAXED))
		return NULL;
	return __atomic_load_n(&region->page[kf_page_index(region, p)],
			       __ATOMIC_RELAXED);
}
