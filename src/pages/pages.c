/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking and freeing runs: split, coalesce, grow in place.
 */
#include "pages/internal.h"
#include "pages/counted-lock.h"
#include "pages/limit.h"
#include "record/record.h"

#include "probes/konfiscator-probes.h"

struct kf_pages kf_pages = {
	.lock = KF_LOCK_INIT(KF_RANK_PAGES),
	.purge_keep = UINT64_MAX,
};
struct kf_pages_conf kf_pages_conf = {
	.region_bytes = KF_MIB,
	.trim_threshold = 128 * KF_KIB,
	.dirty_max = 14 * KF_MIB, /* 16 with the threads' caches */
	.purge_ms = 1000,
	.tick_ms = 50,
};

/* Only large regions ask for huge pages, so with huge pages start large. */
static size_t first_region(void)
{
	return kf_pages_conf.huge
		       ? KF_MAX(kf_pages_conf.region_bytes, (size_t)32 * KF_MIB)
		       : kf_pages_conf.region_bytes;
}

void kf_pages_init(void)
{
	kf_list_init(&kf_pages.regions);
	kf_list_init(&kf_pages.dirty);
	kf_list_init(&kf_pages.dirty_short);
	kf_pages.next_region = first_region();
	kf_pages.last_tick = kf_now_ms();
	kf_pages.dirty_low_at = kf_pages.last_tick;
}

void kf_pages_count_map(const void *addr, size_t size)
{
	kf_word_add_atomic(KF_WORD_mmaps, 1);
	kf_word_add_atomic(KF_WORD_mapped, size);
	kf_probe_memory_mmap_more((uintptr_t)addr, size);
}

void kf_pages_count_decommit(const void *addr, size_t size)
{
	kf_word_add_atomic(KF_WORD_munmaps, 1);
	kf_word_add_atomic(KF_WORD_mapped, -size);
	kf_probe_memory_mmap_less((uintptr_t)addr, size);
}

void kf_pages_count_unmap(const void *addr, size_t size)
{
	kf_word_add_atomic(KF_WORD_returned, size);
	kf_pages_count_decommit(addr, size);
}

static void count_split(const struct kf_run *run, size_t kept, size_t left)
{
	kf_word_add(KF_WORD_splits, 1);
	kf_probe_free_list_split((uintptr_t)run->start, kept << KF_PAGE_SHIFT,
				 left << KF_PAGE_SHIFT);
}

/* Inserts the pages behind a run that was cut out of the middle. */
static void insert_back(const struct kf_run *from, const struct kf_run *run,
			size_t nr_pages, size_t dirty, uint32_t clean)
{
	struct kf_run *back = kf_desc_take();

	back->start = kf_run_end(run);
	back->region = run->region;
	back->kind = KF_RUN_FREE;
	back->nr_pages = (uint32_t)nr_pages;
	back->clean = clean;
	back->dirty = (uint32_t)dirty;
	back->freed_ms = from->freed_ms;
	kf_region_set_ends(back);
	kf_tree_insert(back);
}

/*
 * Cuts pages out of a free run, @pad pages from its start. The rest keeps its
 * place in the tree. The layer knows only the number of dirty pages: the first
 * pages count as dirty, and the known clean pages are the last.
 */
static struct kf_run *pages_cut(struct kf_run *from, size_t pad,
				size_t nr_pages)
{
	size_t behind = from->nr_pages - pad - nr_pages;
	size_t before = KF_MIN((size_t)from->dirty, pad);
	size_t rest = from->dirty - before;
	uint32_t clean = KF_MIN(from->clean, (uint32_t)behind);
	struct kf_run *run = kf_desc_take();

	run->start = from->start + (pad << KF_PAGE_SHIFT);
	run->region = from->region;
	run->nr_pages = (uint32_t)nr_pages;
	run->dirty = (uint32_t)KF_MIN(rest, nr_pages);
	rest -= run->dirty;
	from->clean -= clean;
	run->clean = KF_MIN(from->clean, run->nr_pages);
	from->clean = pad ? from->clean - run->clean : clean;
	if (!pad)
		kf_tree_resize(from, kf_run_end(run), behind, rest);
	else
		kf_tree_resize(from, from->start, pad, before);
	kf_region_set_ends(from);
	if (pad)
		count_split(run, nr_pages + behind, pad);
	if (pad && behind)
		insert_back(from, run, behind, rest, clean);
	if (behind)
		count_split(run, nr_pages, behind);
	return run;
}

void kf_pages_count_use(enum kf_run_kind kind, size_t bytes)
{
	kf_word_add_atomic(kind == KF_RUN_SLAB ? KF_WORD_slabs : KF_WORD_large,
			   bytes);
}

void kf_pages_count_peak(void)
{
	uint64_t held = kf_stats_held();

	if (kf_record_is_on())
		kf_record_held(held);
	if (held > kf_word_get(KF_WORD_peak_held))
		kf_word_set(KF_WORD_peak_held, held);
	kf_limit_watch(held);
	kf_word_set(KF_WORD_largest_free, (size_t)kf_tree_largest()
						  << KF_PAGE_SHIFT);
}

static void pages_name(struct kf_run *run, bool slab)
{
	kf_map_rename(run->start, kf_run_bytes(run),
		      slab ? run : &run->region->stand_in);
}

/* Counts a run and makes it the owner's. */
static void pages_hand_out(struct kf_run *run, enum kf_run_kind kind)
{
	struct kf_free_run *f = kf_container_of(run, struct kf_free_run, run);

	__builtin_memset(&f->lru, 0, KF_RUN_BYTES - sizeof(*run));
	run->kind = (uint8_t)kind;
	if (kind == KF_RUN_SLAB)
		pages_name(run, true);
	kf_pages_count_use(kind, kf_run_bytes(run));
}

/* Cuts the wanted pages out of a free run and makes them the owner's. */
static struct kf_run *pages_carve(struct kf_run *run, size_t nr_pages,
				  size_t align, enum kf_run_kind kind,
				  bool *zeroed)
{
	size_t pad = kf_run_front_pad(run, align);
	uint32_t clean;

	if (run->nr_pages > nr_pages)
		run = pages_cut(run, pad, nr_pages);
	else
		kf_tree_erase(run);
	clean = run->clean;
	*zeroed = clean == run->nr_pages;
	run->asked = 0;
	run->fresh = clean;
	kf_region_set_ends(run);
	pages_hand_out(run, kind);
	return run;
}

bool kf_pages_may_take(const struct kf_run *run, size_t nr_pages)
{
	size_t dirty = KF_MIN((size_t)run->dirty, nr_pages);

	return dirty == nr_pages ||
	       kf_limit_allows((nr_pages - dirty) << KF_PAGE_SHIFT);
}

static struct kf_run *pages_take(size_t nr_pages, size_t align_pages,
				 enum kf_run_kind kind, bool *zeroed)
{
	struct kf_run *run;

	if (!kf_desc_reserve(2))
		return NULL;
	run = kf_tree_find(nr_pages, align_pages);
	if (run && !kf_pages_may_take(run, nr_pages))
		run = NULL;
	else if (!run && kf_limit_allows(nr_pages << KF_PAGE_SHIFT))
		run = kf_region_grow(nr_pages, align_pages);
	if (run && !kf_desc_reserve(2))
		run = NULL;
	if (run)
		run = pages_carve(run, nr_pages, align_pages, kind, zeroed);
	kf_pages_count_peak();
	return run;
}

struct kf_run *kf_pages_alloc(size_t nr_pages, size_t align_pages,
			      enum kf_run_kind kind, bool *zeroed)
{
	struct kf_run *run;

	if (nr_pages > KF_PAGES_MAX || align_pages > KF_PAGES_MAX)
		return NULL;
	if (!kf_pages_lock()) {
		*zeroed = true;
		return kf_private_alloc(nr_pages, align_pages,
					kind == KF_RUN_SLAB ? kind
							    : KF_RUN_MAPPED);
	}
	kf_stats_begin();
	run = pages_take(nr_pages, align_pages, kind, zeroed);
	kf_stats_end();
	kf_pages_unlock();
	if (kind != KF_RUN_SLAB)
		kf_pages_release_deferred();
	return run;
}

struct kf_run *kf_pages_alloc_dirty(size_t nr_pages, size_t align_pages,
				    enum kf_run_kind kind)
{
	struct kf_run *run = NULL;
	bool zeroed;

	if (nr_pages > kf_word_get(KF_WORD_dirty) >> KF_PAGE_SHIFT ||
	    align_pages > KF_PAGES_MAX || !kf_pages_lock())
		return NULL;
	kf_stats_begin();
	if (kf_desc_reserve(2))
		run = kf_tree_find(nr_pages, align_pages);
	if (run && run->dirty >= nr_pages)
		run = pages_carve(run, nr_pages, align_pages, kind, &zeroed);
	else
		run = NULL;
	kf_pages_count_peak();
	kf_stats_end();
	kf_pages_unlock();
	return run;
}

bool kf_pages_set_kind(struct kf_run *run, enum kf_run_kind kind)
{
	bool changes = (kind == KF_RUN_SLAB) != (run->kind == KF_RUN_SLAB);

	if (changes && !kf_pages_lock())
		return false;
	if (changes) {
		kf_stats_begin();
		kf_pages_count_use(run->kind, -kf_run_bytes(run));
		kf_pages_count_use(kind, kf_run_bytes(run));
		pages_name(run, kind == KF_RUN_SLAB);
	}
	/* Atomic: a thread that frees a neighbour reads the kind. */
	__atomic_store_n(&run->kind, (uint8_t)kind, __ATOMIC_RELAXED);
	if (changes) {
		kf_stats_end();
		kf_pages_unlock();
	}
	return true;
}

static struct kf_run *neighbour(const struct kf_run *run, bool before)
{
	struct kf_region *region = run->region;
	uint32_t index = kf_page_index(region, run->start);
	struct kf_run *next;

	if (before ? index == 0 : index + run->nr_pages >= region->committed)
		return NULL;
	next = region->page[before ? index - 1 : index + run->nr_pages];
	return kf_run_is_in_tree(next) ? next : NULL;
}

/* Clean pages at the end of two neighbours that are merged. */
static uint32_t clean_end(const struct kf_run *low, const struct kf_run *high)
{
	return high->clean + (high->clean == high->nr_pages ? low->clean : 0);
}

/*
 * Adds a run's pages to a free neighbour, which keeps its place in the tree.
 * The run with more dirty pages determines the age: otherwise a small run that
 * is allocated and freed beside a large one would keep the large one young.
 */
static void pages_merge(struct kf_run *into, struct kf_run *run)
{
	char *start = into->start < run->start ? into->start : run->start;

	if (run->dirty > into->dirty)
		into->freed_ms = run->freed_ms;
	into->clean = run->start < into->start ? clean_end(run, into)
					       : clean_end(into, run);
	kf_tree_resize(into, start, into->nr_pages + run->nr_pages,
		       into->dirty + run->dirty);
	kf_desc_give(run);
}

void kf_pages_coalesce(struct kf_run *run)
{
	struct kf_run *low = neighbour(run, true);
	struct kf_run *high = neighbour(run, false);
	size_t had = kf_run_bytes(run);
	unsigned int merged = low && high ? 2 : 1;

	run->kind = KF_RUN_FREE;
	if (!low && !high) {
		kf_region_set_ends(run);
		kf_tree_insert(run);
		return;
	}
	if (low && high)
		kf_tree_erase(high);
	pages_merge(low ? low : high, run);
	run = low ? low : high;
	if (low && high)
		pages_merge(low, high);
	kf_region_set_ends(run);
	kf_word_add(KF_WORD_coalesces, 1);
	kf_word_add(KF_WORD_defrags, merged);
	kf_probe_defrag_coalesce((uintptr_t)run->start, had, kf_run_bytes(run),
				 merged);
}

static void mark_dirty(struct kf_run *run)
{
	run->dirty = run->nr_pages;
	run->clean = 0;
	run->freed_ms = kf_now_ms();
}

/* Frees a run of a region. */
static void free_run(struct kf_run *run)
{
	if (run->kind == KF_RUN_SLAB)
		pages_name(run, false);
	kf_pages_count_use(run->kind, -kf_run_bytes(run));
	mark_dirty(run);
	kf_pages_coalesce(run);
	kf_purge_excess();
	kf_pages_count_peak();
}

bool kf_pages_was_mapped(const void *start)
{
	return start && __atomic_load_n(kf_pages_unmapped_slot(start),
					__ATOMIC_RELAXED) == start;
}

void kf_pages_unmap(struct kf_run *run)
{
	kf_map_clear(run->start, KF_GRANULE);
	kf_pages_count_unmap(run->start, kf_run_bytes(run));
	__atomic_store_n(kf_pages_unmapped_slot(run->start), run->start,
			 __ATOMIC_RELAXED);
	kf_pages_defer_unmap(run);
}

void kf_pages_uncount_mapped(const struct kf_run *run)
{
	size_t bytes = kf_run_bytes(run);

	kf_word_add_atomic(KF_WORD_large, -bytes);
	kf_word_sub(KF_WORD_mapped_blocks, 1);
	kf_word_add_atomic(KF_WORD_mapped_blocks_size, -bytes);
}

static void free_mapped(struct kf_run *run)
{
	kf_pages_uncount_mapped(run);
	kf_pages_unmap(run);
}

void kf_pages_defer_free(struct kf_run *run)
{
	struct kf_run *old =
		__atomic_load_n(&kf_pages.pending, __ATOMIC_RELAXED);

	do {
		run->pending = old;
	} while (!__atomic_compare_exchange_n(&kf_pages.pending, &old, run,
					      true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void free_private(struct kf_run *run)
{
	size_t bytes = kf_run_bytes(run);
	size_t named = run->kind == KF_RUN_SLAB ? bytes : KF_GRANULE;
	char *head = (char *)run;

	kf_map_clear(run->start, named);
	kf_pages_count_use(run->kind, -bytes);
	kf_word_add_atomic(KF_WORD_metadata, -(size_t)(run->start - head));
	bytes += (size_t)(run->start - head);
	kf_pages_count_unmap(head, bytes);
	if (!kf_pages_lock()) {
		kf_pages_defer_free(run);
		return;
	}
	kf_pages_defer_unmap(run);
	kf_pages_unlock();
}

void kf_pages_free_locked(struct kf_run *run)
{
	if (run->private)
		kf_pages_defer_unmap(run);
	else if (run->region)
		free_run(run);
	else
		free_mapped(run);
}

static void free_locked(struct kf_run *run)
{
	kf_stats_begin();
	kf_pages_free_locked(run);
	kf_stats_end();
}

static void free_any(struct kf_run *run)
{
	if (run->private) {
		free_private(run);
	} else if (!kf_pages_lock()) {
		kf_pages_defer_free(run);
	} else {
		free_locked(run);
		kf_pages_unlock();
	}
}

void kf_pages_free(struct kf_run *run)
{
	bool slab = run->kind == KF_RUN_SLAB;

	free_any(run);
	if (!slab)
		kf_pages_release_deferred();
}

void kf_pages_free_list(struct kf_run *run)
{
	struct kf_run *next;
	bool locked = kf_pages_lock();

	for (; run; run = next) {
		next = run->pending;
		if (likely(locked))
			free_locked(run);
		else
			kf_pages_defer_free(run);
	}
	if (likely(locked))
		kf_pages_unlock();
}

bool kf_pages_lock(void)
{
	struct kf_run *run, *next;

	if (!kf_counted_lock_take(&kf_pages.lock, 0))
		return false;
	if (unlikely(__atomic_load_n(&kf_pages.purge_result,
				     __ATOMIC_RELAXED)) &&
	    !kf_pages.lock.depth)
		kf_purge_finish();
	if (likely(!__atomic_load_n(&kf_pages.pending, __ATOMIC_RELAXED)))
		return true;
	/* pairs with the release of push_pending() */
	run = __atomic_exchange_n(&kf_pages.pending, NULL, __ATOMIC_ACQUIRE);
	kf_pages.pending_at_fork = NULL;
	for (; run; run = next) {
		next = run->pending;
		free_locked(run);
	}
	return true;
}

static bool pages_is_due(void)
{
	return kf_pages.unmap_later ||
	       (!kf_pages.purging &&
		(kf_pages.purge_old || kf_pages.purge_keep != UINT64_MAX));
}

void kf_pages_unlock(void)
{
	__atomic_store_n(&kf_pages.has_deferred, pages_is_due(),
			 __ATOMIC_RELAXED);
	kf_lock_drop(&kf_pages.lock);
}

void kf_pages_fork_begin(void)
{
	kf_lock_fork_begin(&kf_pages.lock);
}

void kf_pages_fork_prepare(void)
{
	kf_lock_fork_prepare(&kf_pages.lock);
	/* pairs with the release of push_pending() */
	kf_pages.pending_at_fork =
		__atomic_load_n(&kf_pages.pending, __ATOMIC_ACQUIRE);
}

void kf_pages_fork_done(bool child)
{
	/* The child lacks the thread that purges, unless it is this thread. */
	if (child && kf_pages.purging && kf_pages.purger != kf_thread_self() &&
	    !kf_pages.purge_result)
		kf_pages.purge_result = KF_PURGE_REFUSED;
	/* Runs deferred since then may have been copied half written. */
	if (child)
		__atomic_store_n(&kf_pages.pending, kf_pages.pending_at_fork,
				 __ATOMIC_RELAXED);
	kf_pages.pending_at_fork = NULL;
	kf_lock_fork_done(&kf_pages.lock, child);
}
