/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mappings that were freed a moment ago, as they were, for the next request of
 * about their size: each that is made anew costs system calls and all its
 * faults.
 *
 * They count as free and dirty, but are not in the tree and merge with nobody.
 * They give way before fresh memory is taken, so they never add to the resident
 * size; ticks and trims give them back to the kernel.
 */
#include "pages/floor.h"

void kf_recent_count(size_t bytes, uint64_t dirty)
{
	kf_floor.recent_bytes += bytes;
	kf_word_add(KF_WORD_free_runs, bytes);
	kf_word_add(KF_WORD_dirty, dirty << KF_PAGE_SHIFT);
	kf_word_add(KF_WORD_purged, bytes - (dirty << KF_PAGE_SHIFT));
}

static struct kf_run *recent_take(struct kf_run **link)
{
	struct kf_run *run = *link;

	*link = run->pending;
	run->recent = false;
	kf_floor.nr_recent--;
	kf_recent_count(-kf_run_bytes(run), -(uint64_t)run->nr_pages);
	return run;
}

static size_t recent_give_back(struct kf_run **link)
{
	struct kf_run *run = recent_take(link);
	size_t bytes = kf_run_bytes(run);

	kf_floor_unmap(run);
	return bytes;
}

size_t kf_recent_drop(size_t bytes)
{
	size_t dropped = 0;

	while (dropped < bytes && kf_floor.nr_recent) {
		struct kf_run **link = &kf_floor.recent;

		while ((*link)->pending)
			link = &(*link)->pending;
		dropped += recent_give_back(link);
	}
	return dropped;
}

void kf_recent_tick(uint32_t now)
{
	struct kf_run **link = &kf_floor.recent;

	while (*link) {
		if (now - (*link)->freed_ms >= kf_pages_conf.purge_ms)
			recent_give_back(link);
		else
			link = &(*link)->pending;
	}
}

/* One may be as large as what may lie about dirty at all. */
bool kf_recent_put(struct kf_run *run)
{
	size_t bytes = kf_run_bytes(run);

	if (!kf_pages_conf.recent_max ||
	    kf_word_get(KF_WORD_dirty) + bytes > kf_dirty_limit())
		return false;
	if (kf_floor.nr_recent >= kf_pages_conf.recent_max)
		kf_recent_drop(1);
	run->kind = KF_RUN_FREE;
	run->recent = true;
	run->dirty = run->nr_pages;
	run->freed_ms = kf_now_ms();
	run->pending = kf_floor.recent;
	kf_floor.recent = run;
	kf_floor.nr_recent++;
	kf_recent_count(bytes, run->nr_pages);
	return true;
}

/* Up to twice or half as long: the kernel makes it fit without a copy. */
static bool can_be_resized(const struct kf_run *run, size_t nr_pages)
{
	return run->nr_pages / 2 <= nr_pages && nr_pages / 2 <= run->nr_pages;
}

struct kf_run *kf_recent_take(size_t nr_pages)
{
	struct kf_run **link = &kf_floor.recent;
	struct kf_run *run;

	while (*link && !can_be_resized(*link, nr_pages))
		link = &(*link)->pending;
	if (!*link)
		return NULL;
	run = recent_take(link);
	run->asked = 0;
	return run;
}
