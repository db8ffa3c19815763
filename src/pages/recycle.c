/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reuse of freed mappings: their pages are moved to the end of a region or
 * unmapped.
 */
#include "pages/internal.h"

/*
 * The kernel limits the number of mappings, and a moved mapping remains one. A
 * mapping over twice the dirty limit would be purged at once for the most part.
 */
static bool is_worth_recycling(const struct kf_run *run)
{
	return kf_pages.nr_recycled < KF_RECYCLED_MAX &&
	       kf_run_bytes(run) / 2 <= kf_dirty_limit();
}

/* Replaces the mapping at @to. Returns false when @to has no memory. */
static bool put_pages(struct kf_run *run, struct kf_run *to, bool *moved)
{
	size_t bytes = kf_run_bytes(run);

	/* The owner may have protected a part of the mapping. */
	*moved = kf_vm_commit(run->start, bytes) &&
		 kf_mapping_move(run, bytes, to->start);
	return *moved || kf_vm_put_memory(to->start, bytes);
}

/* Gives claimed addresses back; runs behind them may have been added since. */
static void unclaim(struct kf_run *to)
{
	struct kf_region *region = to->region;
	const char *end = kf_run_end(to);
	uint32_t nr = to->nr_pages;

	kf_pages_count_use(KF_RUN_LARGE, -kf_run_bytes(to));
	to->dirty = 0;
	to->clean = nr;
	kf_pages_coalesce(to);
	to = region->page[region->committed - 1];
	if (kf_run_end(to) == end)
		kf_region_shrink(to, to->nr_pages - nr);
}

/*
 * Moves the pages of @run, already subtracted from the counters, to @to, which
 * becomes free.
 * While another thread forks, @to is freed after the fork and the descriptor of
 * @run is lost, as is the mapping if the kernel refused to move it.
 */
static void move_pages(struct kf_run *run, struct kf_run *to)
{
	bool moved;
	bool usable = put_pages(run, to, &moved);

	if (!moved)
		kf_pages_count_map(to->start, kf_run_bytes(to));
	if (!kf_pages_lock()) {
		if (usable)
			kf_pages_defer_free(to);
		return;
	}
	kf_stats_begin();
	/* Moved pages have no name in /proc/PID/maps. */
	to->region->named &= !moved;
	kf_region_report_growth(to->region);
	if (moved) {
		kf_desc_give(run);
		kf_pages.nr_recycled++;
		kf_pages_free_locked(to);
	} else {
		kf_pages_unmap(run);
		if (usable)
			unclaim(to);
	}
	kf_stats_end();
	kf_pages_unlock();
}

static struct kf_run *recycle_claim(const struct kf_run *run)
{
	struct kf_run *to = NULL;

	if (is_worth_recycling(run))
		to = kf_region_claim(run->nr_pages);
	if (to)
		kf_pages_count_use(KF_RUN_LARGE, kf_run_bytes(to));
	return to;
}

void kf_pages_recycle(struct kf_run *run)
{
	struct kf_run *to;

	if (run->private || !kf_pages_lock()) {
		kf_pages_free(run);
		return;
	}
	kf_stats_begin();
	kf_pages_uncount_mapped(run);
	to = recycle_claim(run);
	if (!to)
		kf_pages_unmap(run);
	kf_stats_end();
	kf_pages_unlock();
	if (to)
		move_pages(run, to);
	kf_pages_release_deferred();
}
