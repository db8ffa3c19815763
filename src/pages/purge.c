/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Giving pages back: by age on the ticks of slow paths, at once where dirty
 * pages are many, all of them at a trim.
 *
 * Not at once, or a loop of malloc and free becomes a loop of page faults;
 * not never, or a peak stays in the resident size. MADV_DONTNEED and not
 * MADV_FREE, so that the resident size tells the truth.
 *
 * The kernel needs some 40 us for a mebibyte, so the lock is not held then: one
 * run at a time is taken out of the tree, purged, and put back. If its thread
 * cannot have the lock again because another forks, or is not there any more in
 * a child, the next to take the lock puts the run back.
 */
#include "pages/floor.h"
#include "pages/wait.h"

#include "sys/thread.h"

#include "probes/konfiscator-probes.h"

/* Yields to a thread that purges before a trim goes on without it. */
#define PATIENCE 1000

/* Pages: runs are not purged, nor left, by smaller parts. */
#define LEAST_PART 256

/* How long more may be dirty than a tenth of what is live, beside dirty_max. */
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

static void hand_back(struct kf_run *run)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);
	size_t bytes = (size_t)run->dirty << KF_PAGE_SHIFT;

	/* Locked pages are refused: leave them alone from now on. */
	if (!kf_vm_purge(run->start, kf_run_bytes(run))) {
		kf_list_del(&f->lru);
		return;
	}
	count_purge(run);
	kf_list_del(&f->lru);
	run->clean = run->nr_pages;
	run->dirty = 0;
	kf_word_add_atomic(KF_WORD_returned, bytes);
	kf_word_sub(KF_WORD_dirty, bytes);
	kf_word_add(KF_WORD_purged, bytes);
}

/* Bytes of live blocks, by what was known of the others at the last tick. */
static uint64_t live(void)
{
	uint64_t used = kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large);

	return used - KF_MIN(used, __atomic_load_n(&kf_floor.unused,
						   __ATOMIC_RELAXED));
}

/*
 * By what is live: a program that replaces blocks all the time has holes of all
 * sizes, which the next blocks will fill, and one that has torn down all it had
 * gives back nearly all.
 */
uint64_t kf_dirty_limit(void)
{
	return kf_pages_conf.dirty_max + live() / 2;
}

/* Of what nobody fills for seconds a part is enough. */
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
		kf_floor.purge_keep =
			KF_MIN(kf_floor.purge_keep, kf_dirty_limit());
}

/* Dirty pages that were many at each tick for long enough are to be few. */
static void purge_lasting(uint32_t now)
{
	uint32_t ms = KF_MAX(kf_pages_conf.purge_ms, (uint32_t)LASTING_MS);
	uint64_t keep = lasting_limit();

	if (kf_word_get(KF_WORD_dirty) <= keep)
		kf_floor.few_at = now;
	else if (now - kf_floor.few_at >= ms)
		kf_floor.purge_keep = KF_MIN(kf_floor.purge_keep, keep);
}

static bool is_old(const struct kf_run *run)
{
	return kf_floor.purge_old &&
	       kf_now_ms() - run->freed_ms >= kf_pages_conf.purge_ms;
}

static bool is_too_much(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_floor.purge_keep;
}

static struct kf_run *next_to_go(void)
{
	struct kf_run *run = oldest(&kf_floor.dirty);

	if (run && (is_too_much() || is_old(run)))
		return run;
	return is_too_much() ? oldest(&kf_floor.dirty_short) : NULL;
}

static void want_nothing(void)
{
	kf_floor.purge_keep = UINT64_MAX;
	kf_floor.purge_old = false;
}

/*
 * How many of a run's dirty pages are to go: all of an old one, of another as
 * many as are too many, if enough of it is left.
 */
static uint32_t pages_to_go(const struct kf_run *run)
{
	uint64_t dirty = kf_word_get(KF_WORD_dirty);
	uint64_t excess = dirty - KF_MIN(dirty, kf_floor.purge_keep);
	uint64_t nr = KF_MAX(excess >> KF_PAGE_SHIFT, (uint64_t)LEAST_PART);

	if (is_old(run) || nr + LEAST_PART > run->dirty || !kf_desc_reserve(1))
		return run->dirty;
	return (uint32_t)nr;
}

/* The end of a run, with so many of its dirty pages, out of the tree. */
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
	kf_region_names(run);
	kf_region_names(end);
	return end;
}

/* The next run to go, out of everybody's reach; NULL: there is none. */
static struct kf_run *begin(void)
{
	struct kf_run *run = next_to_go();

	if (!run) {
		want_nothing();
		return NULL;
	}
	kf_stats_begin();
	run = take_end(run, pages_to_go(run));
	run->recent = true;
	kf_recent_count(kf_run_bytes(run), run->dirty);
	kf_stats_end();
	kf_floor.purging = run;
	kf_floor.purger = kf_thread_self();
	return run;
}

/* A region's clean end goes with its addresses, if it is long enough. */
static bool shrink(struct kf_region *region)
{
	struct kf_run *run = region->page[region->committed - 1];
	/* which another thread's free may be moving */
	size_t least = __atomic_load_n(&kf_pages_conf.trim_threshold,
				       __ATOMIC_RELAXED);
	size_t clean;

	if (!kf_run_is_in_tree(run))
		return false;
	clean = (size_t)(run->nr_pages - run->dirty) << KF_PAGE_SHIFT;
	return clean >= least && kf_region_shrink(run, run->dirty);
}

/* Locked pages are refused: they are young again, so as not to be tried on. */
static void end(bool purged)
{
	struct kf_run *run = kf_floor.purging;
	struct kf_region *region = run->region;
	size_t bytes = (size_t)run->dirty << KF_PAGE_SHIFT;
	bool last = at_region_end(run);

	kf_stats_begin();
	kf_recent_count(-kf_run_bytes(run), -(uint64_t)run->dirty);
	kf_floor.purging = NULL;
	run->recent = false;
	if (purged) {
		run->clean = run->nr_pages;
		run->dirty = 0;
		count_purge(run);
	} else {
		run->freed_ms = kf_now_ms();
		want_nothing();
	}
	kf_floor_release(run);
	if (purged && !(last && shrink(region)))
		kf_word_add_atomic(KF_WORD_returned, bytes);
	kf_floor_count_peak();
	kf_stats_end();
}

void kf_purge_settle(void)
{
	struct kf_run *run;

	while ((run = begin()) != NULL) {
		bool purged;

		kf_lock_drop(&kf_floor.lock);
		purged = kf_vm_purge(run->start, kf_run_bytes(run));
		if (!kf_wait_take(&kf_floor.lock, 0)) {
			/* pairs with the acquire of kf_purge_finish() */
			__atomic_store_n(&kf_floor.purge_left,
					 purged ? KF_PURGE_DONE
						: KF_PURGE_REFUSED,
					 __ATOMIC_RELEASE);
			return;
		}
		end(purged);
	}
	kf_lock_drop(&kf_floor.lock);
}

void kf_purge_finish(void)
{
	uint32_t left = __atomic_exchange_n(&kf_floor.purge_left,
					    KF_PURGE_GOES_ON, __ATOMIC_ACQUIRE);

	if (left != KF_PURGE_GOES_ON)
		end(left == KF_PURGE_DONE);
}

/* How the heap grew, for who finds its file: each step is a sixteenth more. */
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
	uint32_t last = __atomic_load_n(&kf_floor.last_tick, __ATOMIC_RELAXED);

	return now - last >= kf_pages_conf.tick_ms;
}

bool kf_pages_is_much_dirty(void)
{
	return kf_word_get(KF_WORD_dirty) > kf_pages_conf.dirty_max;
}

bool kf_pages_tick_is_due(void)
{
	return is_time(kf_now_ms());
}

void kf_pages_hear_live(uint64_t bytes)
{
	uint64_t used = kf_word_get(KF_WORD_slabs) + kf_word_get(KF_WORD_large);

	__atomic_store_n(&kf_floor.unused, used - KF_MIN(used, bytes),
			 __ATOMIC_RELAXED);
}

bool kf_pages_tick(void)
{
	uint32_t now = kf_now_ms();

	if (likely(!is_time(now)) || !kf_floor_lock())
		return false;
	__atomic_store_n(&kf_floor.last_tick, now, __ATOMIC_RELAXED);
	kf_stats_begin();
	kf_recent_tick(now);
	kf_floor.purge_old = true;
	purge_lasting(now);
	kf_floor_count_peak();
	mark_growth();
	kf_stats_end();
	kf_floor_unlock();
	return true;
}

/*
 * Every region's end first, so that it goes with its addresses: but for one
 * that the next block might bring back. Where a program trims again and again,
 * to commit and name it each time would be most of the work.
 */
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
		if (!kf_run_is_in_tree(run) ||
		    (!*pad && run->nr_pages <= kf_region_step(region)))
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

/*
 * The lock while nothing is being purged: who trims wants to have it all. Not
 * for ever, as the thread that purges may be the one that a signal handler of
 * ours interrupted.
 */
static bool lock_alone(void)
{
	for (int i = 0;; i++) {
		if (!kf_floor_lock())
			return false;
		if (!kf_floor.purging || i == PATIENCE)
			return true;
		kf_floor_unlock();
		kf_thread_yield();
	}
}

size_t kf_pages_trim(size_t pad)
{
	size_t before;
	size_t bytes;

	if (!lock_alone())
		return 0;
	kf_stats_begin();
	before = kf_word_get(KF_WORD_returned);
	kf_recent_drop(SIZE_MAX);
	trim_ends(&pad);
	if (!pad) {
		trim_rest();
		kf_map_trim();
	}
	bytes = kf_word_get(KF_WORD_returned) - before;
	kf_floor_count_peak();
	kf_stats_end();
	kf_floor_unlock();
	return bytes;
}
