/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Giving pages back: by age on the ticks of slow paths, at once where dirty
 * pages are many, all of them at a trim.
 *
 * Not at once, or a loop of malloc and free becomes a loop of page faults;
 * not never, or a peak stays in the resident size. MADV_DONTNEED and not
 * MADV_FREE, so that the resident size tells the truth.
 */
#include "pages/floor.h"

#include "probes/konfiscator-probes.h"

#define TICK_MS 50

static struct kf_run *oldest(void)
{
	struct kf_list *first = kf_list_first(&kf_floor.dirty);

	return first ? &kf_container_of(first, struct kf_free_run, lru)->run
		     : NULL;
}

static bool at_region_end(const struct kf_run *run)
{
	const struct kf_region *region = run->region;

	return kf_page_index(region, run->start) + run->nr_pages ==
	       region->committed;
}

static void hand_back(struct kf_run *run)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);
	size_t bytes = (size_t)run->dirty << KF_PAGE_SHIFT;

	/* Locked pages are refused: leave them alone from now on. */
	if (!kf_vm_purge(run->start, kf_run_bytes(run))) {
		kf_list_del(&f->lru);
		return;
	}
	kf_probe_memory_purge((uintptr_t)run->start, kf_run_bytes(run));
	kf_list_del(&f->lru);
	run->maybe_dirty = false;
	run->dirty = 0;
	kf_word_add(KF_WORD_purges, 1);
	kf_word_add_atomic(KF_WORD_returned, bytes);
	kf_word_sub(KF_WORD_dirty, bytes);
	kf_word_add(KF_WORD_purged, bytes);
}

void kf_purge_run(struct kf_run *run)
{
	if (at_region_end(run) &&
	    kf_run_bytes(run) >= kf_pages_conf.trim_threshold &&
	    kf_region_shrink(run, 0))
		return;
	hand_back(run);
}

static uint64_t in_use(void)
{
	return kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large);
}

/*
 * What is replaced again and again leaves holes of all sizes: purging them
 * would bring page faults and save little, as the next block lies there. What
 * has been torn down is much more than what is left.
 */
uint64_t kf_dirty_limit(void)
{
	return KF_MAX((uint64_t)kf_pages_conf.dirty_max, 4 * in_use());
}

static bool too_many(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_dirty_limit();
}

void kf_purge_excess(void)
{
	struct kf_run *run;

	while (too_many() && (run = oldest()) != NULL)
		kf_purge_run(run);
}

void kf_purge_instead(size_t bytes)
{
	uint64_t keep =
		KF_MAX((uint64_t)kf_pages_conf.dirty_max / 4 * 3, in_use() / 2);
	uint64_t dirty = kf_word_get(KF_WORD_dirty);
	struct kf_run *run;

	if (likely(dirty <= keep))
		return;
	keep = KF_MAX(keep, dirty - KF_MIN(dirty, bytes));
	while (kf_word_get(KF_WORD_dirty) > keep && (run = oldest()) != NULL)
		kf_purge_run(run);
}

static void purge_older(uint32_t now)
{
	struct kf_run *run;

	while ((run = oldest()) != NULL &&
	       now - run->freed_ms >= kf_pages_conf.purge_ms)
		kf_purge_run(run);
}

bool kf_pages_tick(void)
{
	uint32_t now = kf_now_ms();

	if (likely(now - __atomic_load_n(&kf_floor.last_tick,
					 __ATOMIC_RELAXED) <
		   TICK_MS))
		return false;
	if (!kf_floor_lock())
		return false;
	__atomic_store_n(&kf_floor.last_tick, now, __ATOMIC_RELAXED);
	kf_stats_begin();
	kf_recent_tick(now);
	purge_older(now);
	kf_floor_count_peak();
	kf_stats_end();
	kf_floor_unlock();
	return true;
}

/* Every region's end first, so that it goes with its addresses. */
static void trim_ends(size_t *pad)
{
	struct kf_list *pos, *tmp;

	kf_list_for_each_safe(pos, tmp, &kf_floor.regions) {
		struct kf_region *region =
			kf_container_of(pos, struct kf_region, link);
		struct kf_run *run;
		size_t keep;

		if (!region->committed)
			continue;
		run = region->page[region->committed - 1];
		if (!kf_run_is_in_tree(run))
			continue;
		keep = KF_MIN(*pad >> KF_PAGE_SHIFT, run->nr_pages);
		*pad -= keep << KF_PAGE_SHIFT;
		if (keep < run->nr_pages && !kf_region_shrink(run, keep))
			hand_back(run);
	}
}

static void trim_rest(void)
{
	struct kf_rb_node *node = kf_rb_first(&kf_floor.tree);

	for (; node; node = kf_rb_next(node)) {
		struct kf_run *run = kf_container_of(node, struct kf_run, node);

		if (run->dirty)
			hand_back(run);
	}
}

size_t kf_pages_trim(size_t pad)
{
	size_t before;
	size_t bytes;

	if (!kf_floor_lock())
		return 0;
	kf_stats_begin();
	before = kf_word_get(KF_WORD_returned);
	kf_recent_drop(SIZE_MAX);
	trim_ends(&pad);
	if (!pad)
		trim_rest();
	bytes = kf_word_get(KF_WORD_returned) - before;
	kf_floor_count_peak();
	kf_stats_end();
	kf_floor_unlock();
	return bytes;
}
