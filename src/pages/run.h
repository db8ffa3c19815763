/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs of pages and the regions they lie in.
 *
 * Glossary
 *	page	4 KiB, whatever the hardware's is
 *	granule	a page: the unit of the address map
 *	region	address space reserved from the kernel in one piece; its pages
 *		are committed from the low end on when they are needed
 *	run	adjacent pages of a region with one owner: free, a slab, a
 *		large block; or a mapping of its own outside of all regions
 *	dirty	a free page that was not given back to the kernel yet
 *	purge	give pages back to the kernel, keep their addresses
 *
 * Invariants, with the pages lock held:
 *	- every committed page of a region belongs to exactly one run;
 *	- region->page[] names the run at the first and at the last page of
 *	  each run, so both neighbours of a run are found in one load;
 *	- the tree holds every free run except one that is being purged, and no
 *	   other run; no two runs of the tree are neighbours.
 */
#ifndef KF_PAGES_RUN_H
#define KF_PAGES_RUN_H

#include "base/compiler.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "sys/vm.h"

#define KF_GRANULE_SHIFT 12
#define KF_GRANULE ((size_t)1 << KF_GRANULE_SHIFT)
#define KF_GRANULE_PAGES (KF_GRANULE / KF_PAGE)

/* Regions and the guards of engine secure start at multiples of this. */
#define KF_AREA_UNIT (16 * KF_KIB)

enum kf_run_kind {
	KF_RUN_NONE,   /* the address belongs to no run */
	KF_RUN_REGION, /* a region's stand-in: look at its page[] */
	KF_RUN_FREE,
	KF_RUN_SLAB,
	KF_RUN_LARGE,
	KF_RUN_CACHED, /* freed, in a run cache of the layer above */
	KF_RUN_MAPPED, /* a mapping of its own */
	KF_RUN_POOL,   /* an engine's memory, whose head starts with a kf_run */
	KF_RUN_GUARDED, /* the pool of guarded blocks: heap/guarded.h */
};

struct kf_region;

/*
 * One run. This cache line belongs to the pages' layer. The line behind it
 * belongs to the run's owner (struct kf_slab); a free run has its list node
 * there.
 *
 * The kinds SLAB to GUARDED and the fields asked, mark, marks, queued, remote,
 * remote_at_fork and number are the owner's and mean nothing to this layer. The
 * map's readers tell owners apart by the kind. The fields use room that only a
 * free run needs: the owner's line of a slab is full, and a large block without
 * an owner's line touches one cache line less.
 */
struct kf_run {
	char *start;		  /* constant while in one owner's hands */
	struct kf_region *region; /* NULL: the run is a mapping of its own */
	uint32_t nr_pages;	  /* pages lock */
	uint8_t kind;		  /* enum kf_run_kind; pages lock */
	bool private; /* mapped during a fork, with its descriptor */
	bool purging; /* free, and not in the tree; pages lock */
	union {
		struct {
			struct kf_rb_node node;
			uint32_t largest; /* pages, of the tree below */
			uint32_t dirty;	  /* pages, at most nr_pages */
			uint32_t freed_ms;
			uint32_t clean; /* pages at its end that read as zero */
		};			/* free: pages lock */
		struct {
			size_t asked;	/* bytes */
			uint32_t mark;	/* heap/marked.h */
			uint32_t fresh; /* @clean before; 0 after use */
		};			/* large: the owner's */
		struct {
			uint32_t *marks; /* heap/marked.h; the owner's */
			/* heap/remote.c; atomic */
			struct kf_run *queued;
			uint64_t remote;
			uint64_t remote_at_fork; /* heap/remote.h */
			uint64_t number; /* no other slab has it; constant */
		};			 /* slab */
		struct kf_run *pending;	 /* next in a list */
	};
} __kf_aligned(KF_CACHE_LINE);

#define KF_RUN_BYTES (2 * KF_CACHE_LINE)

struct kf_free_run {
	struct kf_run run;
	struct kf_list lru; /* of dirty runs, oldest first */
};

_Static_assert(sizeof(struct kf_run) == KF_CACHE_LINE, "one line");
_Static_assert(sizeof(struct kf_free_run) <= KF_RUN_BYTES, "fits");

/*
 * One region. The address map holds @stand_in for granules without a slab.
 * Its @engine_part stays zero, so no heap owns the stand-in.
 */
struct kf_region {
	struct kf_run stand_in;
	uint64_t engine_part[KF_CACHE_LINE / 8];
	char *base;	       /* first page; constant */
	size_t head_bytes;     /* pages of this header; constant */
	uint32_t nr_pages;     /* reserved; constant */
	uint32_t committed;    /* pages from base on; pages lock */
	bool told;	       /* memory_heap_new was fired; pages lock */
	bool named;	       /* in /proc/PID/maps; pages lock */
	size_t told_bytes;     /* by memory_sbrk_more and less; pages lock */
	char *huge_end;	       /* huge pages are asked for below; pages lock */
	struct kf_list link;   /* all regions; pages lock */
	struct kf_run *page[]; /* pages lock */
};

static inline size_t kf_run_bytes(const struct kf_run *run)
{
	return (size_t)run->nr_pages << KF_PAGE_SHIFT;
}

static inline char *kf_run_end(const struct kf_run *run)
{
	return run->start + kf_run_bytes(run);
}

static inline bool kf_run_is_in_tree(const struct kf_run *run)
{
	/* Atomic: the owner of a run in use may change the kind meanwhile. */
	return __atomic_load_n(&run->kind, __ATOMIC_RELAXED) == KF_RUN_FREE &&
	       !run->purging;
}

static inline uint32_t kf_page_index(const struct kf_region *region,
				     const void *p)
{
	return (uint32_t)(((const char *)p - region->base) >> KF_PAGE_SHIFT);
}

#endif
