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

/* Pages. Longer requests are refused at once (8 TiB): 32 bits count pages. */
#define KF_PAGES_MAX ((size_t)1 << 31)

/*
 * The lock guards all fields but those marked atomic. A descriptor is in one
 * place at a time: in the tree, in use, in @pending, in @unmap_later, in
 * @purging or in @spare.
 */
struct kf_pages {
	struct kf_lock lock;
	struct kf_rb_root tree;	    /* free runs by address */
	struct kf_list regions;	    /* struct kf_region.link, oldest first */
	struct kf_list dirty;	    /* struct kf_free_run.lru, oldest first */
	struct kf_list dirty_short; /* likewise, short runs */
	struct kf_run *spare;	    /* descriptors, linked by pending */
	unsigned int nr_spare;
	unsigned int nr_recycled; /* mappings moved into regions */
	char *metadata;		  /* next free byte of the metadata chunk */
	char *metadata_end;
	size_t next_region;		/* bytes to reserve next time */
	uint32_t last_tick;		/* ms; read without the lock */
	struct kf_run *pending;		/* atomic: runs freed during a fork */
	struct kf_run *pending_at_fork; /* @pending when the fork began */
	uint32_t dirty_low_at; /* ms; the last time that few pages were dirty */
	uint64_t unused;       /* atomic: bytes in use, not live */
	uint64_t purge_keep;   /* dirty bytes above this are purged */
	bool purge_old;	       /* runs older than purge_ms are purged too */
	struct kf_run *unmap_later; /* mappings, linked by pending */
	bool has_deferred; /* atomic: kf_pages_release_deferred() has work */
	struct kf_run *purging; /* being purged without the lock */
	uintptr_t purger;	/* the thread that purges @purging */
	uint32_t purge_result;	/* atomic: enum kf_purge_result */
	/* Atomic: starts of unmapped mappings, see kf_pages_unmapped_slot(). */
	const char *unmapped[KF_NR_UNMAPPED];
};

/* The result for @purging if its thread could not take the lock again. */
enum kf_purge_result { KF_PURGE_RUNNING, KF_PURGE_DONE, KF_PURGE_REFUSED };

extern struct kf_pages kf_pages;

/**
 * kf_pages_lock() - take the pages lock
 *
 * Fires memory_arena_reuse_wait after a wait. Frees the runs that were deferred
 * during a fork.
 *
 * Context: any.
 * Return: false while another thread forks; the caller does without the lock.
 */
bool kf_pages_lock(void) __must_check;

/**
 * kf_pages_unlock() - release the pages lock
 *
 * Sets has_deferred for kf_pages_release_deferred().
 *
 * Context: the owner.
 */
void kf_pages_unlock(void);

/**
 * kf_pages_count_peak() - update the peak and the largest free run
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_count_peak(void);

/**
 * kf_pages_coalesce() - make a run free and merge it with free neighbours
 * @run:	a run of a region that nothing uses any more
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_coalesce(struct kf_run *run);

/**
 * kf_pages_may_take() - whether the limit allows to use pages of a free run
 * @run:	the run
 * @nr_pages:	its first pages; those that are dirty have memory already
 *
 * Context: pages lock held.
 * Return: true if so.
 */
bool kf_pages_may_take(const struct kf_run *run, size_t nr_pages) __must_check;

/**
 * kf_pages_free_locked() - free a run, the lock held
 * @run:	a run that is not private
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_free_locked(struct kf_run *run);

/**
 * kf_pages_count_use() - count bytes of slabs or of large blocks
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 * @bytes:	bytes to add; modulo 2^64, so a negative number subtracts
 *
 * Context: any; atomic.
 */
void kf_pages_count_use(enum kf_run_kind kind, size_t bytes);

/**
 * kf_pages_uncount_mapped() - subtract a mapped block from the counters
 * @run:	the block's run
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_uncount_mapped(const struct kf_run *run);

/**
 * kf_pages_defer_free() - free a run as soon as a thread can take the lock
 * @run:	the run
 *
 * Context: any thread, while another forks.
 */
void kf_pages_defer_free(struct kf_run *run);

/**
 * kf_pages_defer_unmap() - have kf_pages_release_deferred() unmap a run
 * @run:	a run without an entry in the map; its descriptor is freed too
 *
 * Context: pages lock held.
 */
void kf_pages_defer_unmap(struct kf_run *run);

/**
 * kf_pages_unmap() - forget a mapping and have it unmapped later
 * @run:	a mapped run, subtracted from the counters of mapped blocks
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_pages_unmap(struct kf_run *run);

/**
 * kf_pages_count_decommit() - count decommitted pages that were purged before
 * @addr:	first byte
 * @size:	bytes
 *
 * Context: any; atomic.
 */
void kf_pages_count_decommit(const void *addr, size_t size);

/* The slot of @unmapped for a mapping that starts at @start. */
static inline const char **kf_pages_unmapped_slot(const void *start)
{
	uintptr_t granule = (uintptr_t)start / KF_GRANULE;

	return &kf_pages.unmapped[granule * 0x9e3779b97f4a7c15 >> 58];
}

_Static_assert(KF_NR_UNMAPPED == 1 << (64 - 58), "as many as the hash has");

/**
 * kf_tree_insert() - add a free run to the tree and to its dirty list
 * kf_tree_erase() - remove a free run from tree and list
 * @run:	the run
 *
 * Context: pages lock held.
 */
void kf_tree_insert(struct kf_run *run);
void kf_tree_erase(struct kf_run *run);

/**
 * kf_tree_count() - count free pages
 * @nr_pages:	pages to add; modulo 2^64, so a negative number subtracts
 * @dirty:	dirty ones among these, likewise
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_tree_count(size_t nr_pages, size_t dirty);

/**
 * kf_tree_resize() - change a run's ends, keep its place in the tree
 * @run:	a free run
 * @start:	its first page from now on
 * @nr_pages:	its pages, not 0
 * @dirty:	how many of them are dirty
 *
 * The order of runs does not change, so the tree is neither searched nor
 * balanced. The caller sets clean and freed_ms before, and calls
 * kf_region_set_ends() afterwards.
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
 * The caller uses the returned run and does not search again: kf_tree_find()
 * may give up among runs that are long enough but not aligned.
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: the free run that holds the aligned run, NULL when the kernel has no
 *	   more memory.
 */
struct kf_run *kf_region_grow(size_t nr_pages, size_t align_pages) __must_check;

/**
 * kf_region_extend() - commit free pages at the end of a region
 * @region:	the region
 * @more:	least number of pages
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: false when the region or the kernel has no more.
 */
bool kf_region_extend(struct kf_region *region, size_t more) __must_check;

/**
 * kf_region_step() - size of the region's next commit
 * @region:	the region
 *
 * Context: pages lock held.
 * Return: pages.
 */
size_t kf_region_step(const struct kf_region *region);

/**
 * kf_region_claim() - take addresses at the end of a region
 * @nr_pages:	how many pages
 *
 * The caller maps pages there, then calls kf_region_report_growth().
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: a large run without pages that no counter includes, or NULL.
 */
struct kf_run *kf_region_claim(size_t nr_pages) __must_check;

/**
 * kf_region_report_growth() - fire the growth probe, ask for huge pages
 * @region:	the region
 *
 * Context: pages lock held.
 */
void kf_region_report_growth(struct kf_region *region);

/**
 * kf_mapping_move() - move the pages of a mapping and forget its address
 * @run:	a mapped run
 * @bytes:	new size
 * @to:		the new address; replaces the mapping there
 *
 * The caller enters the new address in the map before the call and in @run
 * afterwards.
 *
 * Context: the owner of @run; no lock held, see sys/named.h.
 * Return: false when the kernel refuses; nothing changed.
 */
bool kf_mapping_move(struct kf_run *run, size_t bytes, char *to) __must_check;

/**
 * kf_region_shrink() - decommit the end of a region
 * @run:	the free run at that end; invalid afterwards if @keep is 0
 * @keep:	pages of the run that stay; the others are clean, as other tools
 *	   are not told of the call
 *
 * An empty region is unmapped unless it is the only one.
 *
 * Context: pages lock held, inside kf_stats_begin().
 * Return: pages given back, 0 when the kernel refused; then nothing changed.
 */
size_t kf_region_shrink(struct kf_run *run, size_t keep);

/**
 * kf_region_set_ends() - enter a run in its region's page[]
 * @run:	the run
 *
 * Context: pages lock held.
 */
void kf_region_set_ends(struct kf_run *run);

/**
 * kf_desc_reserve() - make sure that spare descriptors exist
 * @nr:		how many
 *
 * Context: pages lock held.
 * Return: false when the kernel has no memory for them.
 */
bool kf_desc_reserve(unsigned int nr) __must_check;

/**
 * kf_desc_take() - take a zeroed descriptor, reserved before
 * kf_desc_give() - put a descriptor back
 * @run:	the descriptor
 *
 * Context: pages lock held.
 * Return: the descriptor, never NULL.
 */
struct kf_run *kf_desc_take(void);
void kf_desc_give(struct kf_run *run);

/**
 * kf_purge_begin() - take the end of a free run out of the tree to purge it
 * @run:	a run in the tree
 * @dirty:	dirty pages to purge
 *
 * The pages still count as free and dirty.
 *
 * Context: pages lock held, nothing being purged.
 */
void kf_purge_begin(struct kf_run *run, uint32_t dirty);

/**
 * kf_purge_release_deferred() - purge the runs that are due, release the lock
 *
 * One run at a time; the lock is not held during the system call. Meanwhile the
 * run counts as free and dirty, but cannot be allocated.
 *
 * Context: pages lock held, not nested, nothing being purged; releases it.
 */
void kf_purge_release_deferred(void);

/**
 * kf_purge_finish() - put a purged run back for a thread that could not
 *
 * Context: pages lock held.
 */
void kf_purge_finish(void);

/**
 * kf_purge_excess() - have the oldest pages above the limit purged later
 *
 * kf_pages_release_deferred() does the system calls, as they are slow.
 *
 * Context: pages lock held, inside kf_stats_begin().
 */
void kf_purge_excess(void);

/**
 * kf_dirty_limit() - dirty bytes that are allowed at any time
 *
 * Context: pages lock held.
 * Return: bytes.
 */
uint64_t kf_dirty_limit(void);

/**
 * kf_private_alloc() - map a run without the lock while another thread forks
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
