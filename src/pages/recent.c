/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs that were freed a moment ago, as they were, for the next request of
 * the same size: no search, no split, no coalescing, no system call.
 *
 * One stack of runs of equal length a slot, found by the length. They count
 * as free and dirty, but are not in the tree and merge with nobody. They give
 * way before fresh memory is taken, so they never add to the resident size;
 * requests of other sizes, ticks and trims put them back among the others.
 */
#include "pages/floor.h"

/* A slab's run is 16 pages; larger ones differ in higher bits. */
static size_t slot_of(size_t nr_pages)
{
	return (nr_pages ^ nr_pages >> 4) % KF_NR_RECENT;
}

void kf_recent_count(size_t bytes, uint64_t dirty)
{
	kf_floor.recent_bytes += bytes;
	kf_word_add(KF_WORD_free_runs, bytes);
	kf_word_add(KF_WORD_dirty, dirty << KF_PAGE_SHIFT);
	kf_word_add(KF_WORD_purged, bytes - (dirty << KF_PAGE_SHIFT));
}

static void pop(struct kf_run **link)
{
	struct kf_run *run = *link;

	*link = run->pending;
	kf_floor.nr_recent--;
	kf_recent_count(-kf_run_bytes(run), -(uint64_t)run->nr_pages);
}

/* To the others, as if it were freed only now. */
static size_t put_back(struct kf_run **link)
{
	struct kf_run *run = *link;
	size_t bytes = kf_run_bytes(run);

	pop(link);
	run->recent = false;
	if (run->region) {
		run->freed_ms = kf_now_ms();
		kf_floor_release(run);
	} else {
		kf_floor_unmap(run);
	}
	return bytes;
}

size_t kf_recent_drop(size_t bytes)
{
	size_t dropped = 0;

	while (dropped < bytes && kf_floor.nr_recent) {
		unsigned int hand = kf_floor.recent_hand;

		if (kf_floor.recent[hand])
			dropped += put_back(&kf_floor.recent[hand]);
		else
			kf_floor.recent_hand = (hand + 1) % KF_NR_RECENT;
	}
	return dropped;
}

void kf_recent_age(void)
{
	unsigned int hand = kf_floor.recent_hand;

	if (likely(!kf_floor.nr_recent))
		return;
	kf_floor.recent_hand = (hand + 1) % KF_NR_RECENT;
	if (kf_floor.recent[hand] && kf_floor.recent[hand]->region)
		put_back(&kf_floor.recent[hand]);
}

/* Mappings are worth more: each costs system calls and all its faults. */
void kf_recent_tick(uint32_t now)
{
	for (unsigned int i = 0; i < KF_NR_RECENT; i++) {
		struct kf_run **link = &kf_floor.recent[i];

		while (*link) {
			if ((*link)->region ||
			    now - (*link)->freed_ms >= kf_pages_conf.purge_ms)
				put_back(link);
			else
				link = &(*link)->pending;
		}
	}
}

/*
 * Only what was asked for twice just now is likely to be asked for again: runs
 * of all lengths had better coalesce. A mapping may be as large as what may lie
 * about dirty at all.
 */
static bool is_welcome(const struct kf_run *run)
{
	size_t bytes = kf_run_bytes(run);
	size_t max = kf_pages_conf.recent_max;
	size_t n = slot_of(run->nr_pages);

	if (!max)
		return false;
	if (!run->region)
		return kf_word_get(KF_WORD_dirty) + bytes <= kf_dirty_limit();
	return kf_floor.asked_for[n] == run->nr_pages &&
	       kf_floor.asked_before[n] == run->nr_pages && bytes <= max / 4 &&
	       kf_floor.recent_bytes + bytes <= max;
}

bool kf_recent_put(struct kf_run *run)
{
	struct kf_run **slot = &kf_floor.recent[slot_of(run->nr_pages)];

	if (!is_welcome(run))
		return false;
	while (*slot && (*slot)->nr_pages != run->nr_pages)
		put_back(slot);
	if (kf_floor.nr_recent == KF_RECENT_MAX)
		kf_recent_drop(1);
	run->kind = KF_RUN_FREE;
	run->recent = true;
	run->maybe_dirty = true;
	run->dirty = run->nr_pages;
	if (!run->region)
		run->freed_ms = kf_now_ms();
	run->pending = *slot;
	*slot = run;
	kf_floor.nr_recent++;
	kf_recent_count(kf_run_bytes(run), run->nr_pages);
	return true;
}

static struct kf_run *take(struct kf_run **link)
{
	struct kf_run *run = *link;

	pop(link);
	run->recent = false;
	run->asked = 0;
	return run;
}

struct kf_run *kf_recent_take(size_t nr_pages, size_t align_pages)
{
	size_t n = slot_of(nr_pages);
	struct kf_run *run = kf_floor.recent[n];

	kf_floor.asked_before[n] = kf_floor.asked_for[n];
	kf_floor.asked_for[n] = (uint32_t)nr_pages;
	if (!run || run->nr_pages != nr_pages || !run->region ||
	    kf_run_front_pad(run, align_pages))
		return NULL;
	return take(&kf_floor.recent[n]);
}

/* Up to twice or half as long: the kernel makes it fit without a copy. */
static bool can_be_resized(const struct kf_run *run, size_t nr_pages)
{
	return !run->region && run->nr_pages / 2 <= nr_pages &&
	       nr_pages / 2 <= run->nr_pages;
}

struct kf_run *kf_recent_take_mapping(size_t nr_pages)
{
	for (unsigned int i = 0; kf_floor.nr_recent && i < KF_NR_RECENT; i++) {
		struct kf_run **link = &kf_floor.recent[i];

		while (*link && !can_be_resized(*link, nr_pages))
			link = &(*link)->pending;
		if (*link)
			return take(link);
	}
	return NULL;
}
