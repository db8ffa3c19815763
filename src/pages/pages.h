/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pages' layer: runs of pages, first fit.
 *
 * Free runs lie in one tree ordered by address, each node knowing the
 * largest run below it (as the kernel's tree of free vmap areas), so the
 * lowest address that fits is found in O(log n). A run is split when it is
 * taken and merged with both neighbours when it is freed. Freed pages stay
 * for a while and are purged by age (kf_pages_tick()) or when they are many.
 *
 * No memory is given back to the kernel while a lock is held or a heap is in
 * the middle of a change: kf_pages_release_deferred() does these system calls
 * later. Memory is committed, and addresses are reserved, by system calls that
 * no other tool can intercept.
 *
 * One lock guards the layer. The process' words count its memory, so that at
 * every moment metadata + free runs + slabs + large = mapped.
 */
#ifndef KF_PAGES_PAGES_H
#define KF_PAGES_PAGES_H

#include "pages/map.h"
#include "pages/run.h"

/* Options of the pages' layer; set at start and by mallopt, under the lock. */
struct kf_pages_conf {
	size_t region_bytes;   /* reserved at a time, at first */
	size_t top_pad;	       /* committed beyond what is needed */
	size_t trim_threshold; /* free bytes at a region's end to give back */
	size_t dirty_max;      /* dirty bytes beside a part of live ones */
	uint32_t purge_ms;     /* age at which dirty pages are purged */
	uint32_t tick_ms;      /* least time between ticks */
	bool huge;	       /* ask for huge pages in large regions */
};

extern struct kf_pages_conf kf_pages_conf;

/**
 * kf_pages_init() - make the pages' layer usable
 *
 * Context: once, at start.
 */
void kf_pages_init(void);

/**
 * kf_pages_alloc() - take a run of pages, lowest address first
 * @nr_pages:	pages wanted, not 0
 * @align_pages: power of two; the run starts at a multiple of it
 * @kind:	KF_RUN_SLAB (then it names itself in the map) or KF_RUN_LARGE
 * @zeroed:	out: whether the whole run reads as zeroes; fresh of a large run
 *		is the number of zeroed pages at its end
 *
 * Context: any thread, before main() too. Takes the pages lock. Leaves errno
 *	    alone.
 * Return: the run, its owner's lines zero, or NULL when the kernel has no
 *	   more; the caller owns it until kf_pages_free().
 */
struct kf_run *kf_pages_alloc(size_t nr_pages, size_t align_pages,
			      enum kf_run_kind kind, bool *zeroed) __must_check;

/**
 * kf_pages_alloc_dirty() - take a run of dirty pages
 * @nr_pages:	pages wanted, not 0
 * @align_pages: power of two
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 *
 * Context: as kf_pages_alloc().
 * Return: a run of a region whose contents are undefined, or NULL where fresh
 *	   pages would be needed.
 */
struct kf_run *kf_pages_alloc_dirty(size_t nr_pages, size_t align_pages,
				    enum kf_run_kind kind) __must_check;

/**
 * kf_pages_set_kind() - change the kind of a run of a region
 * @run:	a slab, whose owner is 0, or a large or cached run
 * @kind:	KF_RUN_SLAB or KF_RUN_LARGE
 *
 * Context: the owner. Takes the pages lock if the run becomes or was a slab.
 * Return: false while another thread forks; nothing changed.
 */
bool kf_pages_set_kind(struct kf_run *run, enum kf_run_kind kind) __must_check;

/**
 * kf_pages_free() - give a run back
 * @run:	a run of kf_pages_alloc() or kf_pages_map()
 *
 * Context: any thread. Takes the pages lock. Leaves errno alone; never fails.
 */
void kf_pages_free(struct kf_run *run);

/**
 * kf_pages_free_list() - give runs back, the lock taken once
 * @run:	a run that is not private, the others linked by pending
 *
 * Context: as kf_pages_free().
 */
void kf_pages_free_list(struct kf_run *run);

/**
 * kf_pages_resize() - grow or shrink a run where it stands
 * @run:	a large run or a mapping of its own
 * @nr_pages:	pages wanted, not 0
 *
 * Context: the owner. Takes the pages lock. Leaves errno alone.
 * Return: false when it cannot; the run is as it was.
 */
bool kf_pages_resize(struct kf_run *run, size_t nr_pages) __must_check;

/**
 * kf_pages_map() - a run with a mapping of its own
 * @nr_pages:	pages wanted, not 0
 * @align_pages: power of two
 *
 * Context: as kf_pages_alloc().
 * Return: the run, which reads as zeroes, or NULL when the kernel has no more.
 */
struct kf_run *kf_pages_map(size_t nr_pages, size_t align_pages) __must_check;

/**
 * kf_pages_recycle() - free a mapping and keep its pages for other runs
 * @run:	a mapped run
 *
 * The pages are moved to the end of a region, where they are free and dirty. If
 * they cannot be moved they are unmapped, as by kf_pages_free().
 *
 * Context: any thread. Takes the pages lock. Leaves errno alone; never fails.
 */
void kf_pages_recycle(struct kf_run *run);

/**
 * kf_pages_was_mapped() - whether an unmapped mapping started at an address
 * @start:	an address outside of all runs
 *
 * Context: any thread.
 * Return: true if so; false also for a mapping that was unmapped long ago.
 */
bool kf_pages_was_mapped(const void *start);

/**
 * kf_pages_remap() - move a mapping of its own to grow it, without a copy
 * @run:	a mapped run
 * @nr_pages:	pages wanted
 *
 * Context: the owner. Leaves errno alone.
 * Return: false when the kernel has no room; the run is as it was.
 */
bool kf_pages_remap(struct kf_run *run, size_t nr_pages) __must_check;

/**
 * kf_pages_enter_guarded() - enter the pool of guarded blocks in the map
 * @run:	with the pool's start and its pages
 *
 * Context: any thread. Takes the pages lock.
 * Return: false when the kernel has no memory for the map, and while another
 *	   thread forks.
 */
bool kf_pages_enter_guarded(struct kf_run *run) __must_check;

/**
 * kf_pages_count_guarded() - count a guarded block that comes or goes
 * @fresh:	its page, if no block has used it yet; or NULL
 * @bytes:	of the block; modulo 2^64, so a negative number subtracts
 *
 * The block counts as a large one, the rest of its page as metadata.
 *
 * Context: any thread. Takes the pages lock.
 */
void kf_pages_count_guarded(const void *fresh, size_t bytes);

/**
 * kf_pages_unmap_later() - have kf_pages_release_deferred() unmap memory
 * @start:	first byte
 * @size:	bytes, whole pages
 *
 * Counts nothing.
 *
 * Context: any thread. Takes the pages lock. Leaves errno alone; never fails.
 */
void kf_pages_unmap_later(void *start, size_t size);

/**
 * kf_pages_release_deferred() - do the system calls that were postponed
 *
 * kf_pages_alloc() and kf_pages_free() of slabs, kf_pages_free_list(),
 * kf_pages_unmap_later() and kf_metadata_alloc() leave system calls to this
 * function; the other functions call it themselves. It uses the C library's
 * names, which other tools may intercept: see sys/named.h.
 *
 * Context: any thread that holds no lock and changes no heap; called often,
 *	   usually one load. Leaves errno alone.
 */
void kf_pages_release_deferred(void);

/**
 * kf_pages_tick() - purge old dirty pages, if tick_ms have passed
 *
 * Context: slow paths of any thread; called often, mostly one clock read.
 * Return: true if it was time, which is a few times a second.
 */
bool kf_pages_tick(void);

/**
 * kf_pages_tick_is_due() - whether tick_ms have passed since the last tick
 *
 * Context: any.
 * Return: whether it is time.
 */
bool kf_pages_tick_is_due(void);

/**
 * kf_pages_exceeds_dirty_max() - whether dirty bytes exceed dirty_max
 *
 * Context: any; one load.
 * Return: true if so; how much more is allowed depends on the live bytes.
 */
bool kf_pages_exceeds_dirty_max(void);

/**
 * kf_pages_set_live() - set the number of live bytes
 * @bytes:	of live blocks
 *
 * The rest of the bytes in use is assumed constant until the next call.
 *
 * Context: any thread.
 */
void kf_pages_set_live(uint64_t bytes);

/**
 * kf_pages_trim() - give free pages back to the kernel now
 * @pad:	free bytes to keep at the regions' ends
 *
 * Context: any thread. Takes the pages lock.
 * Return: bytes given back.
 */
size_t kf_pages_trim(size_t pad);

/**
 * kf_metadata_alloc() - memory for tables, never given back
 * @size:	bytes, at most KF_METADATA_MAX
 *
 * Context: any thread. Takes the pages lock.
 * Return: zeroed memory aligned to a cache line, or NULL.
 */
void *kf_metadata_alloc(size_t size) __must_check;

#define KF_METADATA_MAX ((size_t)8192)

/* The sums of kf_pages_check(), in bytes unless noted. */
struct kf_pages_sums {
	size_t free;
	size_t slabs;
	size_t large;
	size_t committed;
	size_t dirty;
	size_t largest;
	size_t top;	  /* free at the regions' ends */
	size_t runs;	  /* a number, not bytes */
	size_t free_runs; /* likewise */
};

/**
 * kf_pages_check() - walk all runs of all regions and test every invariant
 * @sums:	out: what was seen
 *
 * Context: any thread; slow; for tests and mallinfo. Takes the pages lock.
 * Return: NULL, or a text that names the broken invariant.
 */
const char *kf_pages_check(struct kf_pages_sums *sums);

/**
 * kf_pages_each() - call a function for all runs of all regions
 * @each:	the function; it gets @data, takes no lock and frees nothing
 * @data:	for @each
 *
 * The owner of a run may change its kind and its contents meanwhile, but its
 * pages stay mapped. Other threads wait for the lock until all runs were seen.
 *
 * Context: any thread; slow. Takes the pages lock.
 * Return: false while another thread forks: nothing was called.
 */
bool kf_pages_each(void (*each)(const struct kf_run *run, void *data),
		   void *data) __must_check;

/**
 * kf_pages_each_region() - call a function for all regions
 * @each:	as for kf_pages_each()
 * @data:	for @each
 *
 * Context: as kf_pages_each().
 * Return: as kf_pages_each().
 */
bool kf_pages_each_region(void (*each)(const struct kf_region *region,
				       void *data),
			  void *data) __must_check;

/**
 * kf_pages_fork_begin() - see kf_lock_fork_begin()
 *
 * Context: the forking thread.
 */
void kf_pages_fork_begin(void);

/**
 * kf_pages_fork_prepare() - take the pages lock for a fork
 * kf_pages_fork_done() - release the lock in the parent or in the child
 * @child:	true in the child
 *
 * Context: the forking thread.
 */
void kf_pages_fork_prepare(void);
void kf_pages_fork_done(bool child);

/**
 * kf_pages_count_map() - count memory taken from the kernel
 * kf_pages_count_unmap() - count memory given back with its addresses
 * @addr:	first byte
 * @size:	bytes
 *
 * Fires memory_mmap_more and _less.
 *
 * Context: any; atomic.
 */
void kf_pages_count_map(const void *addr, size_t size);
void kf_pages_count_unmap(const void *addr, size_t size);

#endif
