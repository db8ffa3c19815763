/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The address map: see map.h.
 */
#include "pages/map.h"

#include "pages/pages.h"

#include "stats/stats.h"
#include "sys/thread.h"

#define PAGE_ENTRIES (KF_PAGE / sizeof(uintptr_t))

/*
 * The state of a leaf's page: the number of entries that name a run, and flags.
 * A written page counts as metadata; before, it costs only addresses. A page
 * without entries can be purged.
 */
#define PAGE_NAMES 0x0fffu
#define PAGE_WRITTEN 0x4000u
#define PAGE_GOES 0x8000u /* is being purged */

_Static_assert(PAGE_ENTRIES <= PAGE_NAMES, "can be counted");

/* The entries of addresses with the upper bits @upper. */
struct leaf {
	uintptr_t entry[KF_MAP_ENTRIES];
	uint16_t page[KF_MAP_ENTRIES / PAGE_ENTRIES]; /* atomic */
	uintptr_t upper;			      /* constant */
	struct leaf *next; /* made before this one; constant */
};

#define LEAF_BYTES KF_ALIGN_UP(sizeof(struct leaf), KF_PAGE)

struct kf_map kf_map;
static struct leaf *leaves; /* atomic; the last one made */

/* NULL also when the leaf is for addresses with other upper bits. */
static struct leaf *leaf_of(const void *p)
{
	uintptr_t off =
		__atomic_load_n(&kf_map.root[kf_map_root(p)], __ATOMIC_ACQUIRE);
	struct leaf *leaf = (struct leaf *)((uintptr_t)kf_map.empty +
					    off * sizeof(uintptr_t));

	return off && leaf->upper == (uintptr_t)p >> KF_MAP_BITS ? leaf : NULL;
}

static void map_count(const void *addr)
{
	kf_pages_count_map(addr, KF_PAGE);
	kf_word_add_atomic(KF_WORD_metadata, KF_PAGE);
}

static void uncount(const void *addr)
{
	kf_pages_count_unmap(addr, KF_PAGE);
	kf_word_add_atomic(KF_WORD_metadata, -KF_PAGE);
}

static void list(struct leaf *leaf)
{
	struct leaf *old = __atomic_load_n(&leaves, __ATOMIC_RELAXED);

	do {
		leaf->next = old;
	} while (!__atomic_compare_exchange_n(
		&leaves, &old, leaf, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Two threads may race here during a fork; the loser drops its leaf. */
static struct leaf *make_leaf(const void *p)
{
	uintptr_t *slot = &kf_map.root[kf_map_root(p)];
	uintptr_t none = 0;
	struct leaf *leaf = kf_vm_map(LEAF_BYTES, KF_PAGE);
	intptr_t behind;

	if (!leaf)
		return NULL;
	behind = (intptr_t)leaf - (intptr_t)kf_map.empty;
	leaf->upper = (uintptr_t)p >> KF_MAP_BITS;
	if (!__atomic_compare_exchange_n(
		    slot, &none,
		    (uintptr_t)(behind / (intptr_t)sizeof(uintptr_t)), false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		kf_vm_drop(leaf, LEAF_BYTES);
		return leaf_of(p);
	}
	list(leaf);
	map_count(leaf->page);
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

/* Announces that @nr more entries of a page will name a run. */
static void begin_names(uint16_t *page, uintptr_t *entry, uint32_t nr)
{
	uint16_t old = __atomic_load_n(page, __ATOMIC_RELAXED);

	do {
		while (unlikely(old & PAGE_GOES)) {
			kf_thread_yield();
			old = __atomic_load_n(page, __ATOMIC_RELAXED);
		}
		/* pairs with the release of map_give_back() */
	} while (!__atomic_compare_exchange_n(
		page, &old, (uint16_t)((old | PAGE_WRITTEN) + nr), true,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	if (!(old & PAGE_WRITTEN))
		map_count((void *)KF_ALIGN_DOWN((uintptr_t)entry, KF_PAGE));
}

/* Sets entries of one page; the owner of the memory writes each entry. */
static void map_set(struct leaf *leaf, size_t first, size_t nr, uintptr_t value)
{
	uint16_t *page = &leaf->page[first / PAGE_ENTRIES];
	uintptr_t *entry = &leaf->entry[first];
	uint32_t named = 0;

	if (!value && !(__atomic_load_n(page, __ATOMIC_RELAXED) & PAGE_NAMES))
		return;
	for (size_t i = 0; i < nr; i++)
		named += entry[i] != 0;
	if (value && named < nr)
		begin_names(page, entry, (uint32_t)nr - named);
	for (size_t i = 0; i < nr; i++)
		__atomic_store_n(&entry[i], value, __ATOMIC_RELEASE);
	if (!value)
		/* pairs with the acquire of map_give_back() */
		__atomic_fetch_sub(page, (uint16_t)named, __ATOMIC_RELEASE);
}

/* Addresses without a leaf are foreign and stay foreign. */
static void set_all(const void *start, size_t size, uintptr_t value)
{
	uintptr_t at = (uintptr_t)start >> KF_GRANULE_SHIFT;
	uintptr_t end = at + ((size + KF_GRANULE - 1) >> KF_GRANULE_SHIFT);

	while (at < end) {
		uintptr_t next = KF_ALIGN_DOWN(at, PAGE_ENTRIES) + PAGE_ENTRIES;
		struct leaf *leaf = leaf_of((void *)(at << KF_GRANULE_SHIFT));

		next = KF_MIN(next, end);
		if (leaf)
			map_set(leaf, at % KF_MAP_ENTRIES, next - at, value);
		at = next;
	}
}

bool kf_map_set(const void *start, size_t size, struct kf_run *run)
{
	if (!make_leaves((uintptr_t)start, (uintptr_t)start + size - 1))
		return false;
	kf_map_rename(start, size, run);
	return true;
}

void kf_map_rename(const void *start, size_t size, struct kf_run *run)
{
	set_all(start, size, (uintptr_t)run - (uintptr_t)&kf_map);
}

void kf_map_clear(const void *start, size_t size)
{
	set_all(start, size, 0);
}

static void map_give_back(struct leaf *leaf, size_t i)
{
	uintptr_t *entry = &leaf->entry[i * PAGE_ENTRIES];
	uint16_t state = PAGE_WRITTEN;

	/* Most pages have entries: a load is cheaper than an exchange. */
	if (__atomic_load_n(&leaf->page[i], __ATOMIC_RELAXED) != state ||
	    !__atomic_compare_exchange_n(&leaf->page[i], &state, PAGE_GOES,
					 false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	if (kf_vm_purge(entry, KF_PAGE)) {
		uncount(entry);
		state = 0;
	}
	__atomic_store_n(&leaf->page[i], state, __ATOMIC_RELEASE);
}

void kf_map_trim(void)
{
	/* pairs with the release of list() */
	struct leaf *leaf = __atomic_load_n(&leaves, __ATOMIC_ACQUIRE);

	for (; leaf; leaf = leaf->next)
		for (size_t i = 0; i < KF_ARRAY_SIZE(leaf->page); i++)
			map_give_back(leaf, i);
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
