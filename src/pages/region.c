/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions: address space reserved in large pieces, committed from the low end
 * in steps, given back from the high end.
 *
 * Large reservations keep the number of mappings small; committing in steps
 * keeps programs with mlockall(MCL_FUTURE) small. The first step is 64 KiB,
 * later steps are a quarter of the committed pages. Steps shorter than a huge
 * page also keep a small program small where the system uses huge pages
 * whenever it can.
 */
#include "pages/internal.h"

#include "probes/konfiscator-probes.h"

#define REGION_ALIGN KF_HUGE_PAGE
#define REGION_MAX KF_GIB
#define STEP_PAGES 16 /* least number of pages committed at a time */
#define STEP_MAX_PAGES (4 * KF_MIB / KF_PAGE)

/* Committed pages from which a region asks for huge pages. */
#define HUGE_FROM_PAGES (8 * KF_MIB / KF_PAGE)

/* Committed bytes from which a region has a name in /proc/PID/maps. */
#define NAMED_FROM KF_MIB

/* A region takes at most 1/LIMIT_SHARE of the addresses left, if it can. */
#define LIMIT_SHARE 16

static char *commit_end(const struct kf_region *region)
{
	return region->base + ((size_t)region->committed << KF_PAGE_SHIFT);
}

static size_t region_size(const struct kf_region *region)
{
	return (size_t)region->committed << KF_PAGE_SHIFT;
}

void kf_region_set_ends(struct kf_run *run)
{
	struct kf_region *region = run->region;
	uint32_t first = kf_page_index(region, run->start);

	__atomic_store_n(&region->page[first], run, __ATOMIC_RELAXED);
	__atomic_store_n(&region->page[first + run->nr_pages - 1], run,
			 __ATOMIC_RELAXED);
}

/* The first huge page starts behind the head, which stays sparse. */
static char *first_huge(const struct kf_region *region)
{
	return (char *)KF_ALIGN_UP((uintptr_t)region->base, KF_HUGE_PAGE);
}

static bool wants_huge(const struct kf_region *region)
{
	return kf_pages_conf.huge && region->committed >= HUGE_FROM_PAGES;
}

/* Asks once for each whole huge page, and never again after a refusal. */
static void ask_for_huge(struct kf_region *region)
{
	char *start = region->huge_end;
	char *end = commit_end(region);

	end = (char *)KF_ALIGN_DOWN((uintptr_t)end, KF_HUGE_PAGE);
	if (!wants_huge(region) || end <= start)
		return;
	if (kf_vm_huge(start, (size_t)(end - start)))
		region->huge_end = end;
	else
		kf_pages_conf.huge = false;
}

/* Pages that are committed again need a new request for huge pages. */
static void forget_huge(struct kf_region *region)
{
	char *end = commit_end(region);

	end = (char *)KF_ALIGN_DOWN((uintptr_t)end, KF_HUGE_PAGE);
	end = KF_MAX(end, first_huge(region));
	region->huge_end = KF_MIN(region->huge_end, end);
}

static size_t head_bytes(size_t size)
{
	size_t head = sizeof(struct kf_region) +
		      (size >> KF_PAGE_SHIFT) * sizeof(struct kf_run *);

	return KF_ALIGN_UP(head, KF_PAGE);
}

/* When addresses are scarce, use the least alignment. */
static char *reserve_addresses(size_t size)
{
	char *p = NULL;

	if (size >= REGION_ALIGN)
		p = kf_vm_reserve(size, REGION_ALIGN);
	return p ? p : kf_vm_reserve(size, KF_AREA_UNIT);
}

static struct kf_region *region_reserve(size_t size)
{
	size_t head = head_bytes(size);
	char *p = reserve_addresses(size);
	struct kf_region *region = (void *)p;

	if (!p)
		return NULL;
	if (!kf_vm_commit(p, head)) {
		kf_vm_drop(p, size);
		return NULL;
	}
	region->stand_in.kind = KF_RUN_REGION;
	region->stand_in.start = p;
	region->base = p + head;
	region->huge_end = first_huge(region);
	region->head_bytes = head;
	region->nr_pages = (uint32_t)((size - head) >> KF_PAGE_SHIFT);
	kf_list_add_tail(&region->link, &kf_pages.regions);
	kf_pages_count_map(p, head);
	kf_word_add_atomic(KF_WORD_metadata, head);
	return region;
}

/* Bytes of the smallest region that holds the run, or 0 for none. */
static size_t least_size(size_t nr_pages, size_t align_pages)
{
	size_t run = nr_pages << KF_PAGE_SHIFT;
	size_t pad = align_pages << KF_PAGE_SHIFT;
	size_t head;

	if (nr_pages + align_pages >= KF_PAGES_MAX)
		return 0;
	head = head_bytes(run + pad + REGION_ALIGN);
	head = head_bytes(run + pad + head + REGION_ALIGN);
	/* Regions start at a unit: smaller alignments follow from that. */
	head = pad <= KF_AREA_UNIT ? KF_ALIGN_UP(head, pad) : head + pad;
	return KF_ALIGN_UP(head + run, KF_AREA_UNIT);
}

/*
 * Addresses may be limited (RLIMIT_AS). A trial reservation tells more than
 * reading the limit, and a seccomp filter may kill the program for getrlimit().
 */
static bool leaves_most(size_t size)
{
	void *p = kf_vm_reserve(size * LIMIT_SHARE, KF_PAGE);

	if (p)
		kf_vm_drop(p, size * LIMIT_SHARE);
	return p;
}

/* Address space may be scarce: halve until it fits, down to the need. */
static struct kf_region *new_region(size_t nr_pages, size_t align_pages)
{
	size_t need = least_size(nr_pages, align_pages);
	size_t size = kf_pages.next_region + kf_pages_conf.top_pad;
	struct kf_region *region;

	if (!need)
		return NULL;
	while (size > need && !leaves_most(size))
		size /= 2;
	for (;; size /= 2) {
		size = KF_MAX(KF_ALIGN_UP(size, KF_AREA_UNIT), need);
		region = region_reserve(size);
		if (region || size == need)
			break;
	}
	if (region && kf_pages.next_region < REGION_MAX)
		kf_pages.next_region *= 2;
	return region;
}

/* The free run at the committed end, or NULL. */
static struct kf_run *last_free(const struct kf_region *region)
{
	struct kf_run *run;

	if (!region->committed)
		return NULL;
	run = region->page[region->committed - 1];
	return kf_run_is_in_tree(run) ? run : NULL;
}

/*
 * Whether the aligned run fits at the end, and the number of pages to commit
 * for it: 0 if the search gave up before it reached the last free run.
 */
static bool fits_at_end(const struct kf_region *region, size_t nr_pages,
			size_t align_pages, size_t *more)
{
	struct kf_run *last = last_free(region);
	uintptr_t end = (uintptr_t)commit_end(region);
	uintptr_t from = KF_ALIGN_UP(last ? (uintptr_t)last->start : end,
				     align_pages << KF_PAGE_SHIFT);
	uintptr_t to = from + (nr_pages << KF_PAGE_SHIFT);

	*more = to > end ? (to - end) >> KF_PAGE_SHIFT : 0;
	return *more <= region->nr_pages - region->committed;
}

/* Makes the addresses behind the committed end this run's. */
static void region_append(struct kf_region *region, struct kf_run *run)
{
	run->start = commit_end(region);
	run->region = region;
	__atomic_store_n(&region->committed, region->committed + run->nr_pages,
			 __ATOMIC_RELAXED);
}

static bool name_end(struct kf_region *region, size_t bytes)
{
	char *start = commit_end(region);
	char *granule = (void *)KF_ALIGN_DOWN((uintptr_t)start, KF_GRANULE);

	return kf_map_set(granule, (size_t)(start - granule) + bytes,
			  &region->stand_in);
}

/* Commit before the map: the map of a refused commit could be large too. */
static bool commit(struct kf_region *region, size_t nr)
{
	size_t bytes = nr << KF_PAGE_SHIFT;
	char *start = commit_end(region);
	struct kf_run *run;

	if (!kf_desc_reserve(1) || !kf_vm_commit(start, bytes))
		return false;
	if (!name_end(region, bytes)) {
		/* New mappings have no name. */
		region->named = false;
		/* Pages that stay committed are committed again next time. */
		if (!kf_vm_decommit(start, bytes))
			return false;
		return false;
	}
	run = kf_desc_take();
	run->nr_pages = (uint32_t)nr;
	run->clean = run->nr_pages;
	kf_pages_count_map(start, bytes);
	region_append(region, run);
	kf_pages_coalesce(run);
	return true;
}

static size_t pages_to_huge(const char *end)
{
	return (KF_ALIGN_UP((uintptr_t)end, KF_HUGE_PAGE) - (uintptr_t)end) >>
	       KF_PAGE_SHIFT;
}

static size_t step_for(const struct kf_region *region, size_t more)
{
	size_t step = KF_MIN(region->committed / 4, STEP_MAX_PAGES);

	more += kf_pages_conf.top_pad >> KF_PAGE_SHIFT;
	return KF_ALIGN_UP(KF_MAX(step, more), (size_t)STEP_PAGES);
}

size_t kf_region_step(const struct kf_region *region)
{
	return step_for(region, 1);
}

static size_t commit_step(const struct kf_region *region, size_t more)
{
	size_t step = step_for(region, more);
	size_t left = region->nr_pages - region->committed;

	/* A huge page must be whole before the first touch. */
	if (wants_huge(region))
		step += pages_to_huge(commit_end(region) +
				      (step << KF_PAGE_SHIFT));
	return KF_MIN(step, left);
}

/* A growth is reported late, so a report may include an earlier shrink. */
static void report_size(struct kf_region *region)
{
	size_t had = region->told_bytes, has = region_size(region);

	region->told_bytes = has;
	if (has > had)
		kf_probe_memory_sbrk_more((uintptr_t)region->base + had,
					  has - had);
	else if (has < had)
		kf_probe_memory_sbrk_less((uintptr_t)region->base + has,
					  had - has);
}

/* The kernel knows no names. */
static bool region_nameless;

/*
 * A small heap has no name: its program would pay for it at each start. Asks
 * never again after a refusal.
 */
static void region_name(struct kf_region *region)
{
	size_t reserved = (size_t)region->nr_pages << KF_PAGE_SHIFT;

	if (region->named || region_nameless ||
	    region_size(region) < NAMED_FROM)
		return;
	region->named = kf_vm_name(region, region->head_bytes + reserved,
				   KF_STATS_HEAP_NAME);
	region_nameless = !region->named;
}

void kf_region_report_growth(struct kf_region *region)
{
	ask_for_huge(region);
	region_name(region);
	if (!region->told) {
		region->told = true;
		kf_word_add(KF_WORD_heaps, 1);
		kf_probe_memory_heap_new((uintptr_t)region,
					 region_size(region));
	} else {
		kf_probe_memory_heap_more((uintptr_t)region,
					  region_size(region));
	}
	report_size(region);
}

static bool extend(struct kf_region *region, size_t more)
{
	if (!commit(region, commit_step(region, more)) && !commit(region, more))
		return false;
	kf_region_report_growth(region);
	return true;
}

bool kf_region_extend(struct kf_region *region, size_t more)
{
	return more <= region->nr_pages - region->committed &&
	       extend(region, more);
}

static struct kf_run *region_grow(struct kf_region *region, size_t nr_pages,
				  size_t align_pages)
{
	size_t more;

	if (!fits_at_end(region, nr_pages, align_pages, &more) ||
	    (more && !extend(region, more)))
		return NULL;
	return last_free(region);
}

static void region_forget(uintptr_t start, uintptr_t end)
{
	if (start < end)
		kf_map_clear((void *)start, end - start);
}

/* Frees an empty region; @had is its size in bytes before, for the probe. */
static void free_region(struct kf_region *region, size_t had)
{
	size_t head = region->head_bytes;
	size_t size = head + ((size_t)region->nr_pages << KF_PAGE_SHIFT);

	if (region->told) {
		region->told = false;
		kf_word_sub(KF_WORD_heaps, 1);
		kf_probe_memory_heap_free((uintptr_t)region, had);
		report_size(region);
	}
	kf_list_del(&region->link);
	region_forget((uintptr_t)region, (uintptr_t)region + size);
	if (!kf_vm_unmap(region, size)) {
		kf_list_add_tail(&region->link, &kf_pages.regions);
		return;
	}
	kf_pages_count_unmap(region, head);
	kf_word_add_atomic(KF_WORD_metadata, -head);
}

struct kf_run *kf_region_grow(size_t nr_pages, size_t align_pages)
{
	struct kf_list *pos;
	struct kf_region *region;
	struct kf_run *run;

	kf_list_for_each(pos, &kf_pages.regions) {
		region = kf_container_of(pos, struct kf_region, link);
		run = region_grow(region, nr_pages, align_pages);
		if (run)
			return run;
	}
	region = new_region(nr_pages, align_pages);
	if (!region)
		return NULL;
	run = region_grow(region, nr_pages, align_pages);
	if (!run && !region->committed)
		free_region(region, 0);
	return run;
}

static struct kf_region *with_addresses_for(size_t nr_pages)
{
	struct kf_list *pos;

	kf_list_for_each(pos, &kf_pages.regions) {
		struct kf_region *region =
			kf_container_of(pos, struct kf_region, link);

		if (nr_pages <= region->nr_pages - region->committed)
			return region;
	}
	return new_region(nr_pages, 1);
}

struct kf_run *kf_region_claim(size_t nr_pages)
{
	struct kf_region *region = with_addresses_for(nr_pages);
	struct kf_run *run;

	if (!region)
		return NULL;
	/* Entries behind the end do no harm: kf_map_find() checks the end. */
	if (!kf_desc_reserve(1) ||
	    !name_end(region, nr_pages << KF_PAGE_SHIFT)) {
		if (!region->committed)
			free_region(region, 0);
		return NULL;
	}
	run = kf_desc_take();
	run->nr_pages = (uint32_t)nr_pages;
	run->kind = KF_RUN_LARGE;
	region_append(region, run);
	kf_region_set_ends(run);
	return run;
}

static bool is_only(const struct kf_region *region)
{
	return region->link.next == region->link.prev;
}

size_t kf_region_shrink(struct kf_run *run, size_t keep)
{
	struct kf_region *region = run->region;
	size_t nr = run->nr_pages - keep;
	char *start = run->start + (keep << KF_PAGE_SHIFT);
	size_t had = region_size(region);
	bool goes = !keep && run->start == region->base && !is_only(region);

	if (!kf_vm_decommit(start, nr << KF_PAGE_SHIFT))
		return 0;
	if (region->named)
		region->named = kf_vm_name(start, nr << KF_PAGE_SHIFT,
					   KF_STATS_HEAP_NAME);
	if (!keep)
		kf_tree_erase(run);
	__atomic_store_n(&region->committed, region->committed - (uint32_t)nr,
			 __ATOMIC_RELAXED);
	forget_huge(region);
	region_forget(KF_ALIGN_UP((uintptr_t)start, KF_GRANULE),
		      (uintptr_t)start + (nr << KF_PAGE_SHIFT));
	kf_pages_count_decommit(start, nr << KF_PAGE_SHIFT);
	if (keep) {
		run->clean -= KF_MIN(run->clean, (uint32_t)nr);
		kf_tree_resize(run, run->start, keep,
			       KF_MIN((size_t)run->dirty, keep));
		kf_region_set_ends(run);
	} else {
		kf_desc_give(run);
	}
	if (goes) {
		free_region(region, had);
	} else {
		kf_probe_memory_heap_less((uintptr_t)region,
					  region_size(region));
		report_size(region);
	}
	return nr;
}
