/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The address map: see map.h.
 */
#include "pages/map.h"

#include "pages/pages.h"

#include "stats/stats.h"

#define LEAF_BYTES (KF_MAP_ENTRIES * sizeof(uintptr_t))

struct kf_map kf_map;

static uintptr_t *leaf_of(const void *p)
{
	uintptr_t off = __atomic_load_n(
		&kf_map.root[(uint16_t)((uintptr_t)p >> 32)], __ATOMIC_ACQUIRE);

	return off ? (uintptr_t *)((uintptr_t)kf_map.empty + off) : NULL;
}

/* Two threads may race here during a fork: one leaf wins, the other goes. */
static uintptr_t *make_leaf(const void *p)
{
	uintptr_t *slot = &kf_map.root[(uint16_t)((uintptr_t)p >> 32)];
	uintptr_t none = 0;
	void *leaf = kf_vm_map(LEAF_BYTES, KF_PAGE);

	if (!leaf)
		return NULL;
	if (!__atomic_compare_exchange_n(
		    slot, &none, (uintptr_t)leaf - (uintptr_t)kf_map.empty,
		    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		kf_vm_drop(leaf, LEAF_BYTES);
		return leaf_of(p);
	}
	kf_pages_count_map(leaf, LEAF_BYTES);
	kf_word_add_atomic(KF_WORD_metadata, LEAF_BYTES);
	return leaf;
}

static bool make_leaves(uintptr_t first, uintptr_t last)
{
	for (uintptr_t p = first >> 32; p <= last >> 32; p++) {
		const void *addr = (const void *)(p << 32);

		if (!leaf_of(addr) && !make_leaf(addr))
			return false;
	}
	return true;
}

bool kf_map_set(const void *start, size_t size, struct kf_run *run)
{
	uintptr_t first = (uintptr_t)start;
	uintptr_t last = first + size - 1;
	uintptr_t value = run ? (uintptr_t)run - (uintptr_t)&kf_map : 0;

	if (run && !make_leaves(first, last))
		return false;
	for (uintptr_t p = first; p <= last; p += KF_GRANULE) {
		uintptr_t *leaf = leaf_of((const void *)p);

		if (!leaf)
			continue;
		__atomic_store_n(&leaf[(uint32_t)p >> KF_GRANULE_SHIFT], value,
				 __ATOMIC_RELEASE);
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
