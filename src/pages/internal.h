/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the pages' layer and the functions between its files. Private to
 * src/pages.
 */
#ifndef KF_PAGES_INTERNAL_H
#define KF_PAGES_INTERNAL_H

#include "pages/pages.h"
#include "stats/stats.h"
#include "sys/lock.h"
#include "sys/thread.h"

#define KF_NR_UNMAPPED 64    /* mappings */
#define KF_RECYCLED_MAX 1024 /* mappings */

/*
 * The lock guards all fields but those said to be atomic. A descriptor is in
 * one place: in the tree, in use, in @unmap_later, in @purging or in @spare.
 */
struct kf_pages {
	struct kf_lock lock;
	struct kf_rb_root tree;	    /* free runs by address */
	struct kf_list regions;	    /* struct kf_region.link, oldest first */
	struct kf_list dirty;	    /* struct kf_free_run.lru, oldest first */
	struct kf_list dirty_short; /* likewise, of the short ones */
	struct kf_run *spare;	    /* descriptors, linked by pending */
	unsigned int nr_spare;
	unsigned int nr_recycled; /* mappings whose pages a region has got */
	char *metadata;		  /* next free byte of the metadata chunk */
	char *metadata_end;
	size_t next_region;		/* bytes to reserve next time */
	uint32_t last_tick;		/* ms; read without the lock */
	struct kf_run *pending;		/* atomic: runs freed during a fork */
	struct kf_run *pending_at_fork; /* @pending when the fork began */
	uint32_t dirty_low_at;		/* ms: when few pages were dirty */
	uint64_t unused;		/* atomic: bytes in use, not live */
	uint64_t purge_keep;		/* dirty bytes above this are to go */
	bool purge_old;			/* those old enough too */
	struct kf_run *unmap_later;	/* mappings, linked by pending */
	bool has_deferred; /* atomic: kf_pages_release_deferred() has work */
	struct kf_run *purging; /* whose pages go now, without the lock */
	uintptr_t purger;	/* by this thread */
	uint32_t purge_result;	/* atomic: enum kf_purge_result */
	/* Atomic: where mappings were that are gone, by
	 * kf_pages_unmapped_slot(). */
	const char *unmapped[KF_NR_UNMAPPED];
};

/* What became of @purging, where its thread could not take the lock again. */
enum kf_purge_result { KF_PURGE_RUNNING, KF_PURGE_DONE, KF_PURGE_REFUSED };

extern struct kf_pages kf_pages;

/**
 * kf_pages_lock() - take the pages lock
 *
 * Fires memory_arena_reuse_wait after a wait. Takes in what was freed during
 * a fork.
 *
 * Context: any.
 * Return: false while another thread forks: do without.
 */
bool kf_pages_lock(void) __must_check;

/**
 * kf_pages_unlock() - let the pages lock go
 *
 * Says whether there is something for kf_pages_release_deferred().
 *
 * Context: the owner.
 */
void kf_pages_unlock(void);

/**
 * kf_pages_count_peak() - bring the words of peaks and the largest run up
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_count_peak(void);

/**
 * kf_pages_coalesce() - put a run among the free ones and merge it
 * @run:	a run of a region, no longer in anybody's hands
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_coalesce(struct kf_run *run);

/**
 * kf_pages_free_locked() - take a run from its owner
 * @run:	a run that is not private
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_free_locked(struct kf_run *run);

/**
 * kf_pages_count_use() - count bytes of slabs or of large blocks
 * @run:	a run of a region
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 * @bytes:	how many more; negative: fewer
 *
 * Context: any; atomic.
 */
void kf_pages_count_use(const struct kf_run *run, enum kf_run_kind kind,
			size_t bytes);

/**
 * kf_pages_uncount_mapped() - count a mapped block less
 * @run:	the block's run
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_uncount_mapped(const struct kf_run *run);

/**
 * kf_pages_defer_free() - free a run when the lock can be had again
 * @run:	the run
 *
 * Context: any thread, while another forks.
 */
void kf_pages_defer_free(struct kf_run *run);

/**
 * kf_pages_defer_unmap() - leave a mapping to kf_pages_release_deferred()
 * @run:	a run that nobody knows any more; its descriptor goes too
 *
 * Context: pages lock held.
 */
void kf_pages_defer_unmap(struct kf_run *run);

/**
 * kf_pages_unmap() - have a mapping that counts nowhere given back
 * @run:	a mapped run; kf_pages_release_deferred()'s afterwards
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_unmap(struct kf_run *run);

/**
 * kf_pages_count_decommit() - count committed pages that had been given back
 * before
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; atomic.
 */
void kf_pages_count_decommit(const void *addr, size_t size);

/* Where a mapping's start is remembered. */
static inline const char **kf_pages_unmapped_slot(const void *start)
{
	uintptr_t granule = (uintptr_t)start / KF_GRANULE;

	return &kf_pages.unmapped[granule * 0x9e3779b97f4a7c15 >> 58];
}

_Static_assert(KF_NR_UNMAPPED == 1 << (64 - 58), "as many as the hash has");

/**
 * kf_tree_insert() - add a free run, and to the dirty list if it is worth it
 * kf_tree_erase() - take a free run off tree and list
 * @run:	the run
 *
 * Context: pages lock held.
 */
void kf_tree_insert(struct kf_run *run);
void kf_tree_erase(struct kf_run *run);

/**
 * kf_tree_count() - count free pages
 * @nr_pages:	how many more; modulo 2^64, so fewer too
 * @dirty:	how many of these are dirty, likewise
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_tree_count(size_t nr_pages, size_t dirty);

/**
 * kf_tree_resize() - change a run's ends where it lies in the tree
 * @run:	a free run
 * @start:	its first page from now on
 * @nr_pages:	its pages, not 0
 * @dirty:	how many of them are dirty
 *
 * Its order among the others stays, so nothing is searched and nothing is
 * balanced. The caller sets clean and freed_ms before, and enters the
 * names afterwards.
 *
 * Context: pages lock held.
 */
void kf_tree_resize(struct kf_run *run, char *start, size_t nr_pages,
		    size_t dirty);

/**
 * kf_tree_find() - the lowest free run that holds an aligned run, a dirty
 *		    one if there is one near
 * @nr_pages:	pages wanted
 * @align_pages: power of two
 *
 * Fires free_list_search.
 *
 * Context: pages lock held. O(log n).
 * Return: the run, or NULL.
 */
struct kf_run *kf_tree_find(size_t nr_pages, size_t align_pages) __must_check;

/**
 * kf_tree_largest() - pages of the largest free run
 *
 * Context: pages lock held.
 * Return: pages; 0 when there is none.
 */
uint32_t kf_tree_largest(void);

/**
 * kf_run_front_pad() - pages before the first aligned page of a run
 * @run:	the run
 * @align_pages: power of two
 *
 * Context: any.
 * Return: pages.
 */
size_t kf_run_front_pad(const struct kf_run *run, size_t align_pages);

/**
 * kf_region_grow() - commit pages so that an aligned run fits
 * @nr_pages:	pages wanted
 * @align_pages: power of two
 *
 * The caller takes the run that it is given: a search by kf_tree_find() may
 * give up among runs that are long enough but not aligned.
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: the free run that holds it, NULL when the kernel has no more.
 */
struct kf_run *kf_region_grow(size_t nr_pages, size_t align_pages) __must_check;

/**
 * kf_region_extend() - commit more pages at the end of a region
 * @region:	the region
 * @more:	pages, at least; free afterwards
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: false where the region or the kernel has no more.
 */
bool kf_region_extend(struct kf_region *region, size_t more) __must_check;

/**
 * kf_region_step() - how much would be committed at a time
 * @region:	the region
 *
 * Context: pages lock held.
 * Return: pages.
 */
size_t kf_region_step(const struct kf_region *region);

/**
 * kf_region_claim() - addresses at the end of a region
 * @nr_pages:	how many pages
 *
 * The caller puts pages there, and then calls kf_region_report_growth().
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: a large run that counts nowhere and has no pages, or NULL.
 */
struct kf_run *kf_region_claim(size_t nr_pages) __must_check;

/**
 * kf_region_report_growth() - tell of it, and ask for huge pages
 * @region:	the region
 *
 * Context: pages lock held.
 */
void kf_region_report_growth(struct kf_region *region);

/**
 * kf_mapping_move() - move the pages of a mapping, whose address is forgotten
 * @run:	a mapped run
 * @bytes:	how many it is to have
 * @to:		where to; what is mapped there goes
 *
 * The caller names the new address before, and enters it in @run.
 *
 * Context: the run is the caller's. No lock, as of sys/named.h.
 * Return: false when the kernel refuses; nothing changed.
 */
bool kf_mapping_move(struct kf_run *run, size_t bytes, char *to) __must_check;

/**
 * kf_region_shrink() - give the addresses of a region's end back
 * @run:	the free run at that end; it is gone afterwards
 * @keep:	pages of it to leave; those behind are clean, as nobody hears
 *		of it
 *
 * A region left empty goes back to the kernel, but for the last.
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: pages given back, 0 when the kernel refused; then nothing changed.
 */
size_t kf_region_shrink(struct kf_run *run, size_t keep);

/**
 * kf_region_set_ends() - enter a run's first and last page in its region
 * @run:	the run
 *
 * Context: pages lock held.
 */
void kf_region_set_ends(struct kf_run *run);

/**
 * kf_desc_reserve() - make sure that descriptors are spare
 * @nr:		how many
 *
 * Context: pages lock held.
 * Return: false when the kernel has no memory for them.
 */
bool kf_desc_reserve(unsigned int nr) __must_check;

/**
 * kf_desc_take() - a zeroed descriptor, reserved before
 * kf_desc_give() - one that is no longer needed
 * @run:	the descriptor
 *
 * Context: pages lock held.
 * Return: the descriptor, never NULL.
 */
struct kf_run *kf_desc_take(void);
void kf_desc_give(struct kf_run *run);

/**
 * kf_purge_begin() - take the end of a free run out of reach, to be purged
 * @run:	a run in the tree
 * @dirty:	how many of its dirty pages
 *
 * The pages go on to count as free and dirty.
 *
 * Context: pages lock held, nothing being purged.
 */
void kf_purge_begin(struct kf_run *run, uint32_t dirty);

/**
 * kf_purge_release_deferred() - hand back what is to go, and let the lock go
 *
 * One run at a time, without the lock while the kernel works: meanwhile the
 * run counts as free and dirty, but is in nobody's reach.
 *
 * Context: pages lock held, not nested, nothing being purged; dropped
 *	    afterwards.
 */
void kf_purge_release_deferred(void);

/**
 * kf_purge_finish() - put back a run whose purging thread could not
 *
 * Context: pages lock held.
 */
void kf_purge_finish(void);

/**
 * kf_purge_excess() - have the oldest pages above the limit handed back
 *
 * By kf_pages_release_deferred(), as the kernel takes its time.
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_purge_excess(void);

/**
 * kf_dirty_limit() - dirty bytes that may lie about
 *
 * Context: pages lock held.
 * Return: bytes.
 */
uint64_t kf_dirty_limit(void);

/**
 * kf_private_alloc() - a run without the lock, while another thread forks
 * @nr_pages:	pages wanted
 * @align_pages: power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_MAPPED
 *
 * Context: any.
 * Return: the run, or NULL.
 */
struct kf_run *kf_private_alloc(size_t nr_pages, size_t align_pages,
				enum kf_run_kind kind) __must_check;

#endif
