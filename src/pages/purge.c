/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Purging: old pages on the ticks of slow paths, the oldest at once when too
 * many pages are dirty, all pages at a trim.
 *
 * If each free purged its pages, a loop of malloc and free would be a loop of
 * page faults; without a purge a peak would stay in the resident size.
 * MADV_DONTNEED is used and not MADV_FREE, so that the resident size is true.
 *
 * The kernel needs some 40 us for a mebibyte, so the lock is not held
 * meanwhile: one run at a time is taken out of the tree, purged, and put back.
 * If the purging thread cannot take the lock again because another thread
 * forks, or does not exist in the child of a fork, the next thread that takes
 * the lock puts the run back.
 */
#include "pages/internal.h"
#include "pages/counted-lock.h"
#include "pages/limit.h"

#include "sys/named.h"
#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

/* Yields that a trim waits for another thread's purge. */
#define PATIENCE 1000

/* Pages: no smaller part of a run is purged, and no smaller part is left. */
#define LEAST_PART 256

/* Time after which lasting_limit() holds in place of kf_dirty_limit(). */
#define LASTING_MS 4000

static struct kf_run *oldest(const struct kf_list *list)
{
	struct kf_list *first = kf_list_first(list);

	return first ? &kf_container_of(first, struct kf_free_run, lru)->run
		     : NULL;
}

static bool at_region_end(const struct kf_run *run)
{
	const struct kf_region *region = run->region;

	return kf_page_index(region, run->start) + run->nr_pages ==
	       region->committed;
}

static void count_purge(const struct kf_run *run)
{
	kf_probe_memory_purge((uintptr_t)run->start, kf_run_bytes(run));
	kf_word_add(KF_WORD_purges, 1);
}

/* Live bytes, as estimated from the last kf_pages_set_live(). */
static uint64_t live(void)
{
	uint64_t used = kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large);

	return used - KF_MIN(used, __atomic_load_n(&kf_pages.unused,
						   __ATOMIC_RELAXED));
}

/*
 * The limit grows with the live bytes: a program that replaces blocks has holes
 * of all sizes, which the next blocks fill; a program that freed all blocks
 * gives nearly all pages back.
 */
uint64_t kf_dirty_limit(void)
{
	return kf_limit_dirty(kf_pages_conf.dirty_max + live() / 2);
}

/* The lower limit for pages that stay dirty for seconds. */
static uint64_t lasting_limit(void)
{
	return kf_pages_conf.dirty_max + live() / 10;
}

static bool too_many(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_dirty_limit();
}

void kf_purge_excess(void)
{
	if (too_many())
		kf_pages.purge_keep =
			KF_MIN(kf_pages.purge_keep, kf_dirty_limit());
}

/* Applies lasting_limit() when dirty bytes exceeded it for LASTING_MS. */
static void purge_lasting(uint32_t now)
{
	uint32_t ms = KF_MAX(kf_pages_conf.purge_ms, (uint32_t)LASTING_MS);
	uint64_t keep = lasting_limit();

	if (kf_word_get(KF_WORD_dirty) <= keep)
		kf_pages.dirty_low_at = now;
	else if (now - kf_pages.dirty_low_at >= ms)
		kf_pages.purge_keep = KF_MIN(kf_pages.purge_keep, keep);
}

static bool purge_is_old(const struct kf_run *run)
{
	return kf_pages.purge_old &&
	       kf_now_ms() - run->freed_ms >= kf_pages_conf.purge_ms;
}

static bool purge_is_too_much(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_pages.purge_keep;
}

static struct kf_run *next_to_go(void)
{
	struct kf_run *run = oldest(&kf_pages.dirty);

	if (run && (purge_is_too_much() || purge_is_old(run)))
		return run;
	return purge_is_too_much() ? oldest(&kf_pages.dirty_short) : NULL;
}

static void want_nothing(void)
{
	kf_pages.purge_keep = UINT64_MAX;
	kf_pages.purge_old = false;
}

/*
 * The number of dirty pages of a run to purge: all of an old run; of another
 * run the excess, or all if only a small part would be left.
 */
static uint32_t pages_to_go(const struct kf_run *run)
{
	uint64_t dirty = kf_word_get(KF_WORD_dirty);
	uint64_t excess = dirty - KF_MIN(dirty, kf_pages.purge_keep);
	uint64_t nr = KF_MAX(excess >> KF_PAGE_SHIFT, (uint64_t)LEAST_PART);

	if (purge_is_old(run) || nr + LEAST_PART > run->dirty ||
	    !kf_desc_reserve(1))
		return run->dirty;
	return (uint32_t)nr;
}

/* Takes the end of a run with @dirty dirty pages out of the tree. */
static struct kf_run *take_end(struct kf_run *run, uint32_t dirty)
{
	uint32_t left = run->dirty - dirty;
	struct kf_run *end;

	if (!left) {
		kf_tree_erase(run);
		return run;
	}
	end = kf_desc_take();
	end->start = run->start + ((size_t)left << KF_PAGE_SHIFT);
	end->region = run->region;
	end->kind = KF_RUN_FREE;
	end->nr_pages = run->nr_pages - left;
	end->dirty = dirty;
	end->clean = KF_MIN(run->clean, end->nr_pages);
	end->freed_ms = run->freed_ms;
	run->clean -= end->clean;
	kf_tree_resize(run, run->start, left, left);
	kf_region_set_ends(run);
	kf_region_set_ends(end);
	return end;
}

void kf_purge_begin(struct kf_run *run, uint32_t dirty)
{
	kf_stats_begin();
	run = take_end(run, dirty);
	run->purging = true;
	kf_tree_count(run->nr_pages, run->dirty);
	kf_stats_end();
	kf_pages.purging = run;
	kf_pages.purger = kf_thread_self();
}

/*
 * Decommits a region's end if it is long enough. Only pages known to be clean
 * are decommitted, as other tools are not told of the call.
 */
static void shrink(struct kf_region *region)
{
	struct kf_run *run = region->page[region->committed - 1];
	/* Atomic: another thread's free may change the threshold. */
	size_t least = __atomic_load_n(&kf_pages_conf.trim_threshold,
				       __ATOMIC_RELAXED);

	if (kf_run_is_in_tree(run) &&
	    (size_t)run->clean << KF_PAGE_SHIFT >= least)
		kf_region_shrink(run, run->nr_pages - run->clean);
}

/*
 * The kernel refuses to purge locked pages: their run becomes young again, so
 * that it is not tried again at once. A trim shrinks regions by itself
 * (@shrinks is false).
 */
static void purge_end(bool purged, bool shrinks)
{
	struct kf_run *run = kf_pages.purging;
	struct kf_region *region = run->region;
	size_t bytes = (size_t)run->dirty << KF_PAGE_SHIFT;
	bool last = at_region_end(run);

	kf_stats_begin();
	kf_tree_count(-(size_t)run->nr_pages, -(size_t)run->dirty);
	kf_pages.purging = NULL;
	run->purging = false;
	if (purged) {
		run->clean = run->nr_pages;
		run->dirty = 0;
		count_purge(run);
		kf_word_add_atomic(KF_WORD_returned, bytes);
	} else {
		run->freed_ms = kf_now_ms();
		want_nothing();
	}
	kf_pages_coalesce(run);
	if (purged && last && shrinks)
		shrink(region);
	kf_pages_count_peak();
	kf_stats_end();
}

/* LOST: the lock could not be taken again. */
enum purged { DONE, REFUSED, LOST };

/* Purges the last @dirty dirty pages of a run, without the lock. */
static enum purged purge_pages(struct kf_run *run, uint32_t dirty, bool shrinks)
{
	bool purged;

	kf_purge_begin(run, dirty);
	run = kf_pages.purging;
	kf_pages_unlock();
	purged = kf_named_purge(run->start, kf_run_bytes(run));
	if (!kf_counted_lock_take(&kf_pages.lock, 0)) {
		/* pairs with the acquire of kf_purge_finish() */
		__atomic_store_n(&kf_pages.purge_result,
				 purged ? KF_PURGE_DONE : KF_PURGE_REFUSED,
				 __ATOMIC_RELEASE);
		return LOST;
	}
	purge_end(purged, shrinks);
	return purged ? DONE : REFUSED;
}

void kf_purge_release_deferred(void)
{
	struct kf_run *run;

	while ((run = next_to_go()) != NULL) {
		if (purge_pages(run, pages_to_go(run), true) == LOST)
			return;
	}
	want_nothing();
	kf_pages_unlock();
}

void kf_purge_finish(void)
{
	uint32_t left = __atomic_exchange_n(&kf_pages.purge_result,
					    KF_PURGE_RUNNING, __ATOMIC_ACQUIRE);

	if (left != KF_PURGE_RUNNING)
		purge_end(left == KF_PURGE_DONE, true);
}

/* Records growth by a sixteenth or more for readers of the stats file. */
static void mark_growth(void)
{
	uint64_t now = kf_now_ns() / 1000000;
	uint64_t held = kf_stats_held();
	uint64_t last = kf_word_get(KF_WORD_grown_to);

	kf_word_set(KF_WORD_seen_at, now);
	if (held <= last + last / 16)
		return;
	kf_word_set(KF_WORD_grown_to, held);
	kf_word_set(KF_WORD_grown_at, now);
}

static bool is_time(uint32_t now)
{
	uint32_t last = __atomic_load_n(&kf_pages.last_tick, __ATOMIC_RELAXED);

	return now - last >= kf_pages_conf.tick_ms;
}

bool kf_pages_exceeds_dirty_max(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_pages_conf.dirty_max;
}

bool kf_pages_tick_is_due(void)
{
	return is_time(kf_now_ms());
}

void kf_pages_set_live(uint64_t bytes)
{
	uint64_t used = kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large);

	__atomic_store_n(&kf_pages.unused, used - KF_MIN(used, bytes),
			 __ATOMIC_RELAXED);
}

bool kf_pages_tick(void)
{
	uint32_t now = kf_now_ms();

	kf_pages_release_deferred();
	if (likely(!is_time(now)) || !kf_pages_lock())
		return false;
	__atomic_store_n(&kf_pages.last_tick, now, __ATOMIC_RELAXED);
	kf_stats_begin();
	kf_pages.purge_old = true;
	purge_lasting(now);
	kf_pages_count_peak();
	mark_growth();
	kf_stats_end();
	kf_pages_unlock();
	kf_pages_release_deferred();
	return true;
}

/* The free run at a region's end, or NULL. */
static struct kf_run *free_end(const struct kf_list *link)
{
	const struct kf_region *region =
		kf_container_of(link, const struct kf_region, link);
	struct kf_run *run = NULL;

	if (region->committed)
		run = region->page[region->committed - 1];
	return run && kf_run_is_in_tree(run) ? run : NULL;
}

/* Pages of this run that a trim keeps, subtracted from @pad. */
static uint32_t purge_leave(const struct kf_run *run, size_t *pad)
{
	size_t keep = KF_MIN(*pad >> KF_PAGE_SHIFT, (size_t)run->nr_pages);

	*pad -= keep << KF_PAGE_SHIFT;
	return (uint32_t)keep;
}

/*
 * Decommits every region's end, except an end that the next block might need: a
 * program that trims again and again would spend most of its time to commit
 * that end and enter it in the map.
 */
static void trim_ends(size_t pad)
{
	bool all = !pad;
	struct kf_list *pos, *tmp;

	kf_list_for_each_safe(pos, tmp, &kf_pages.regions) {
		struct kf_run *run = free_end(pos);
		uint32_t keep;

		if (!run ||
		    (all && run->nr_pages <= kf_region_step(run->region)))
			continue;
		keep = purge_leave(run, &pad);
		keep = KF_MAX(keep, run->nr_pages - run->clean);
		if (keep < run->nr_pages)
			kf_region_shrink(run, keep);
	}
}

/* The first run with dirty pages at or above an address, or NULL. */
static struct kf_run *dirty_from(const char *from)
{
	struct kf_rb_node *node = kf_pages.tree.node, *found = NULL;
	struct kf_run *run;

	while (node) {
		run = kf_container_of(node, struct kf_run, node);
		if (run->start >= from)
			found = node;
		node = run->start >= from ? node->left : node->right;
	}
	for (; found; found = kf_rb_next(found)) {
		run = kf_container_of(found, struct kf_run, node);
		if (run->dirty)
			return run;
	}
	return NULL;
}

/* Returns false when the lock could not be taken again. */
static bool purge_all(void)
{
	const char *from = NULL;
	struct kf_run *run;

	while ((run = dirty_from(from)) != NULL) {
		from = kf_run_end(run);
		if (purge_pages(run, run->dirty, false) == LOST)
			return false;
	}
	return true;
}

/* A free end with dirty pages to purge before it can shrink, or NULL. */
static struct kf_run *dirty_end(size_t pad, uint32_t *dirty)
{
	struct kf_list *pos;

	kf_list_for_each(pos, &kf_pages.regions) {
		struct kf_run *run = free_end(pos);
		uint32_t keep;

		if (!run)
			continue;
		keep = purge_leave(run, &pad);
		if (!run->dirty || run->nr_pages - keep <= run->clean)
			continue;
		*dirty = run->dirty > keep ? run->dirty - keep : run->dirty;
		return run;
	}
	return NULL;
}

/* Purges the regions' ends except for @pad bytes. See purge_all(). */
static bool purge_ends(size_t pad)
{
	enum purged done = DONE;
	struct kf_run *run;
	uint32_t dirty;

	while (done == DONE && kf_desc_reserve(1) &&
	       (run = dirty_end(pad, &dirty)) != NULL)
		done = purge_pages(run, dirty, false);
	return done != LOST;
}

/*
 * Takes the lock when nothing is being purged, as a trim gives all pages back.
 * The wait is bounded: the caller may be a signal handler that interrupted the
 * purge.
 */
static bool lock_alone(void)
{
	for (int i = 0;; i++) {
		if (!kf_pages_lock())
			return false;
		if (!kf_pages.purging || i == PATIENCE)
			return true;
		kf_pages_unlock();
		kf_thread_yield();
	}
}

/* Releases the lock meanwhile. Returns false if it could not be taken again. */
static bool trim_pages(size_t pad)
{
	/* A signal handler may have interrupted a purge or the lock's owner. */
	if (kf_pages.purging || kf_pages.lock.depth)
		return true;
	return pad ? purge_ends(pad) : purge_all();
}

size_t kf_pages_trim(size_t pad)
{
	uint64_t before;

	if (!lock_alone())
		return 0;
	before = kf_word_get(KF_WORD_returned);
	if (trim_pages(pad)) {
		kf_stats_begin();
		trim_ends(pad);
		if (!pad)
			kf_map_trim();
		kf_pages_count_peak();
		kf_stats_end();
		kf_pages_unlock();
	}
	kf_pages_release_deferred();
	return kf_word_get(KF_WORD_returned) - before;
}
