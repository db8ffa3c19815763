/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs with a mapping of their own, and resizing runs in place.
 */
#include "pages/internal.h"

#include "pages/limit.h"
#include "sys/named.h"

#include "probes/konfiscator-probes.h"

/*
 * Mappings are aligned to a page unless the caller wants more: the kernel joins
 * mappings without a hole between them, and limits their number.
 */
static size_t align_bytes(size_t align_pages)
{
	return align_pages << KF_PAGE_SHIFT;
}

static void count_peaks(void)
{
	uint64_t blocks = kf_word_get(KF_WORD_mapped_blocks);
	uint64_t size = kf_word_get(KF_WORD_mapped_blocks_size);

	if (blocks > kf_word_get(KF_WORD_peak_mapped_blocks))
		kf_word_set(KF_WORD_peak_mapped_blocks, blocks);
	if (size > kf_word_get(KF_WORD_peak_mapped_size))
		kf_word_set(KF_WORD_peak_mapped_size, size);
	kf_pages_count_peak();
}

/* Counts a mapped run and makes it the owner's. */
static void mapped_hand_out(struct kf_run *run)
{
	run->kind = KF_RUN_MAPPED;
	kf_word_add_atomic(KF_WORD_large, kf_run_bytes(run));
	kf_word_add(KF_WORD_mapped_blocks, 1);
	kf_word_add_atomic(KF_WORD_mapped_blocks_size, kf_run_bytes(run));
	count_peaks();
}

static struct kf_run *mapped_describe(char *start, size_t nr_pages)
{
	struct kf_run *run;

	if (!kf_desc_reserve(1))
		return NULL;
	run = kf_desc_take();
	run->start = start;
	run->nr_pages = (uint32_t)nr_pages;
	if (!kf_map_set(start, KF_GRANULE, run)) {
		kf_desc_give(run);
		return NULL;
	}
	mapped_hand_out(run);
	return run;
}

struct kf_run *kf_private_alloc(size_t nr_pages, size_t align_pages,
				enum kf_run_kind kind)
{
	size_t align = align_bytes(align_pages);
	size_t bytes = nr_pages << KF_PAGE_SHIFT;
	char *head = NULL;
	struct kf_run *run;

	/* A heap may be in the middle of a change, so not by name. */
	if (kf_limit_allows(align + bytes))
		head = kf_vm_map(align + bytes, align);
	if (!head)
		return NULL;
	run = (void *)head;
	run->start = head + align;
	run->nr_pages = (uint32_t)nr_pages;
	run->kind = (uint8_t)kind;
	run->private = true;
	if (!kf_map_set(run->start, kind == KF_RUN_SLAB ? bytes : KF_GRANULE,
			run)) {
		kf_vm_drop(head, align + bytes);
		return NULL;
	}
	kf_pages_count_map(head, align + bytes);
	kf_word_add_atomic(KF_WORD_metadata, align);
	kf_pages_count_use(kind, bytes);
	return run;
}

static void mapped_count_resize(struct kf_run *run, size_t old, size_t bytes)
{
	bool locked = kf_pages_lock();

	if (locked)
		kf_stats_begin();
	kf_word_add_atomic(KF_WORD_large, bytes - old);
	if (!run->private)
		kf_word_add_atomic(KF_WORD_mapped_blocks_size, bytes - old);
	if (bytes > old)
		kf_pages_count_map(run->start + old, bytes - old);
	else if (bytes < old)
		kf_pages_count_unmap(run->start + bytes, old - bytes);
	run->nr_pages = (uint32_t)(bytes >> KF_PAGE_SHIFT);
	if (!locked)
		return;
	count_peaks();
	kf_stats_end();
	kf_pages_unlock();
}

static bool resize_mapped(struct kf_run *run, size_t nr_pages)
{
	size_t old = kf_run_bytes(run);
	size_t bytes = nr_pages << KF_PAGE_SHIFT;

	if ((bytes > old && !kf_limit_allows(bytes - old)) ||
	    !kf_named_resize(run->start, old, bytes))
		return false;
	mapped_count_resize(run, old, bytes);
	return true;
}

static void give_tail(struct kf_run *run, size_t nr_pages)
{
	struct kf_run *tail = kf_desc_take();

	tail->start = run->start + (nr_pages << KF_PAGE_SHIFT);
	tail->region = run->region;
	tail->nr_pages = run->nr_pages - (uint32_t)nr_pages;
	tail->dirty = tail->nr_pages;
	tail->freed_ms = kf_now_ms();
	run->nr_pages = (uint32_t)nr_pages;
	kf_region_set_ends(run);
	kf_word_add_atomic(KF_WORD_large, -kf_run_bytes(tail));
	kf_pages_coalesce(tail);
	kf_purge_excess();
}

/* The free run of at least so many pages behind a run, or NULL. */
static struct kf_run *free_behind(const struct kf_run *run, size_t more)
{
	struct kf_region *region = run->region;
	uint32_t behind = kf_page_index(region, run->start) + run->nr_pages;
	uint32_t has = 0;
	struct kf_run *next;

	if (behind < region->committed) {
		next = region->page[behind];
		if (!kf_run_is_in_tree(next))
			return NULL;
		has = next->nr_pages;
		if (has >= more)
			return next;
	}
	/* The last run of a region can grow with the region. */
	if (behind + has != region->committed ||
	    !kf_limit_allows((more - has) << KF_PAGE_SHIFT) ||
	    !kf_region_extend(region, more - has))
		return NULL;
	return region->page[behind];
}

/* Adds the first pages of the free run behind to a run. */
static bool take_head(struct kf_run *run, size_t more)
{
	struct kf_run *next = free_behind(run, more);
	uint32_t dirty;

	if (!next || !kf_pages_may_take(next, more))
		return false;
	dirty = KF_MIN(next->dirty, (uint32_t)more);
	if (next->nr_pages > more) {
		next->clean =
			KF_MIN(next->clean, next->nr_pages - (uint32_t)more);
		kf_tree_resize(next, next->start + (more << KF_PAGE_SHIFT),
			       next->nr_pages - more, next->dirty - dirty);
		kf_region_set_ends(next);
		kf_word_add(KF_WORD_splits, 1);
		kf_probe_free_list_split((uintptr_t)run->start,
					 more << KF_PAGE_SHIFT,
					 kf_run_bytes(next));
	} else {
		kf_tree_erase(next);
		kf_desc_give(next);
	}
	run->nr_pages += (uint32_t)more;
	kf_region_set_ends(run);
	kf_word_add_atomic(KF_WORD_large, more << KF_PAGE_SHIFT);
	return true;
}

static bool resize_run(struct kf_run *run, size_t nr_pages)
{
	bool done = true;

	if (!kf_desc_reserve(1))
		done = false;
	else if (nr_pages < run->nr_pages)
		give_tail(run, nr_pages);
	else if (nr_pages > run->nr_pages)
		done = take_head(run, nr_pages - run->nr_pages);
	kf_pages_count_peak();
	return done;
}

bool kf_pages_resize(struct kf_run *run, size_t nr_pages)
{
	bool done;

	if (nr_pages > KF_PAGES_MAX)
		return false;
	if (!run->region)
		return resize_mapped(run, nr_pages);
	if (!kf_pages_lock())
		return false;
	kf_stats_begin();
	done = resize_run(run, nr_pages);
	kf_stats_end();
	kf_pages_unlock();
	kf_pages_release_deferred();
	return done;
}

/* Reserves addresses and enters them in the map; NULL when there are none. */
static char *named_addresses(struct kf_run *run, size_t bytes)
{
	char *to = kf_vm_reserve(bytes, KF_PAGE);

	if (to && !kf_map_set(to, KF_GRANULE, run)) {
		kf_vm_drop(to, bytes);
		return NULL;
	}
	return to;
}

/* Clear the map first: another thread may get the addresses at once. */
bool kf_mapping_move(struct kf_run *run, size_t bytes, char *to)
{
	char *from = run->start;

	kf_map_clear(from, KF_GRANULE);
	if (!kf_named_move(from, kf_run_bytes(run), bytes, to)) {
		kf_map_rename(from, KF_GRANULE, run);
		return false;
	}
	__atomic_store_n(kf_pages_unmapped_slot(from), from, __ATOMIC_RELAXED);
	return true;
}

static bool move_mapped(struct kf_run *run, size_t bytes)
{
	size_t old = kf_run_bytes(run);
	char *to = NULL;

	if (bytes <= old || kf_limit_allows(bytes - old))
		to = named_addresses(run, bytes);
	if (!to)
		return false;
	if (!kf_mapping_move(run, bytes, to)) {
		kf_map_clear(to, KF_GRANULE);
		kf_vm_drop(to, bytes);
		return false;
	}
	run->start = to;
	mapped_count_resize(run, old, bytes);
	return true;
}

bool kf_pages_remap(struct kf_run *run, size_t nr_pages)
{
	return nr_pages <= KF_PAGES_MAX && !run->private &&
	       move_mapped(run, nr_pages << KF_PAGE_SHIFT);
}

struct kf_run *kf_pages_map(size_t nr_pages, size_t align_pages)
{
	size_t bytes = nr_pages << KF_PAGE_SHIFT;
	struct kf_run *run;
	char *start = NULL;

	if (nr_pages <= KF_PAGES_MAX && align_pages <= KF_PAGES_MAX &&
	    kf_limit_allows(bytes))
		start = kf_named_map(bytes, align_bytes(align_pages));
	if (!start)
		return NULL;
	if (!kf_pages_lock()) {
		kf_named_drop(start, bytes);
		return kf_private_alloc(nr_pages, align_pages, KF_RUN_MAPPED);
	}
	kf_stats_begin();
	kf_pages_count_map(start, bytes);
	run = mapped_describe(start, nr_pages);
	if (!run)
		kf_pages_count_unmap(start, bytes);
	kf_stats_end();
	kf_pages_unlock();
	if (!run)
		kf_named_drop(start, bytes);
	return run;
}
