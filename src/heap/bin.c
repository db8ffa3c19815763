/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bins: how a heap fills them and flushes them.
 *
 * An empty bin is filled from its source, then from another slab of the class
 * with free blocks, then from blocks of other heaps that the heap has cached,
 * and at last from a new slab. A medium bin takes cached blocks first.
 *
 * So a bin has at most the blocks of one slab, or blocks of the block cache,
 * whose bytes have bounds (KF_BUDGET, KF_KEPT_ALL). Nothing else bounds what
 * the bins of a thread hold; they are flushed after the thread has ended, when
 * memory is short, by malloc_trim(), and by kf_heap_flush_drained().
 */
#include "heap/heap.h"

#include "heap/audit.h"
#include "heap/boundary.h"
#include "heap/reclaim.h"
#include "heap/remote.h"

#include "pages/pages.h"

#include "probes/konfiscator-probes.h"

/* Slabs that a search looks at; a longer search costs more than it saves. */
#define BIN_SLABS_SEARCHED 8

/* Bytes of slabs that a thread without live blocks may keep in any case. */
#define PINNED_MAX (256 * KF_KIB)

/* How many larger medium classes may serve a request before a slab is made. */
#define BIN_NEAR_CLASSES 2

static inline struct kf_slab *bin_slab_at(struct kf_list *link)
{
	return kf_container_of(link, struct kf_slab, link);
}

static bool bin_is_medium(size_t offset)
{
	return offset > KF_NR_TINY * sizeof(struct kf_bin);
}

static void bin_count_fill(struct kf_heap *heap, unsigned int class,
			   uint32_t nr, size_t size)
{
	const struct kf_bin *bin = &heap->front.bin[class];
	size_t bytes = kf_class_bytes(class);

	kf_heap_stat(heap, KF_SLOT_cache_fills, 1);
	kf_heap_stat(heap, KF_SLOT_asked_sample, size * nr);
	kf_heap_stat(heap, KF_SLOT_given_sample, (uint64_t)bytes * nr);
	/* Medium blocks in the block cache count as taken already. */
	if (!(bin->source & KF_BIN_CACHED) || bytes <= KF_TINY_MAX)
		kf_heap_stat(heap, KF_SLOT_taken, (uint64_t)bytes * nr);
	kf_probe_cache_fill(bytes, nr);
}

/* Cut the bin after @nr blocks. Returns the rest; NULL if it is damaged. */
static void *bin_end_after(struct kf_bin *bin, uint32_t nr)
{
	void **link = &bin->coded;
	void *next = kf_link_code(*link);

	for (; nr-- && kf_link_leads_on(next); next = kf_link_next(link))
		link = next;
	if (!kf_link_leads_on(next))
		return NULL;
	*link = kf_link_code(NULL);
	return next;
}

/* The countdown ended in a class: @block is to be a sample. */
static void bin_set_due(struct kf_heap *heap, unsigned int class,
			const void *block)
{
	heap->due[class] = heap->countdown.epoch;
	heap->due_mean[class] = heap->countdown.was;
	heap->due_at[class] = block;
}

uint32_t kf_heap_bound(struct kf_heap *heap, size_t offset, uint32_t nr)
{
	struct kf_bin *bin = (void *)((char *)heap->front.bin + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*bin));
	uint32_t drawn = heap->first_drawn;
	uint32_t kept;
	void *rest;

	/* Blocks of guests are charged one by one. */
	if (heap->counters.shared)
		return nr;
	kept = drawn + kf_countdown_pass(&heap->countdown,
					 kf_class_bytes(class), nr - drawn);
	if (likely(kept == nr))
		return nr;
	rest = bin_end_after(bin, kept);
	if (unlikely(!rest))
		return nr;
	bin_set_due(heap, class, rest);
	if (bin->source & KF_BIN_CACHED)
		kf_cache_restore(heap, offset, rest, nr - kept);
	else
		kf_slab_untake(kf_bin_source(bin), rest, nr - kept);
	return kept;
}

static void *bin_pop(struct kf_heap *heap, struct kf_bin *bin, size_t offset)
{
	void **block = kf_bin_first(bin);

	/* Without the key the report of a damaged link finds the size. */
	*kf_slab_key(block) = 0;
	bin->coded = kf_link_code(kf_audit_next(block));
	if (bin_is_medium(offset))
		*block = NULL;
	kf_counters_add(&heap->counters,
			&kf_slot_pair(heap->front.slot, offset)->mallocs, 1);
	return block;
}

static bool bin_slab_is_exhausted(const struct kf_slab *slab)
{
	return !slab->local && slab->carved == slab->capacity;
}

/*
 * The next slab to fill a bin from. The slab at the head of the list has waited
 * longest, so most blocks have gathered in it. Slabs with few used blocks are
 * passed over while there are others, so that they become empty. Next best is a
 * slab with room to carve. NULL: no slab of those searched has a block.
 */
static struct kf_slab *bin_next_slab(struct kf_heap *heap, unsigned int class)
{
	struct kf_list *list = &heap->slabs[class];
	struct kf_slab *little_used = NULL, *fresh = NULL;

	for (int i = 0; i < BIN_SLABS_SEARCHED && !kf_list_empty(list); i++) {
		struct kf_slab *slab = bin_slab_at(kf_list_first(list));

		if (slab == little_used || slab == fresh)
			break;
		if (slab->local && slab->used >= slab->carved / 2)
			return slab;
		/* The source of a bin that cached blocks filled since. */
		if (bin_slab_is_exhausted(slab)) {
			kf_slab_retire(slab);
			continue;
		}
		if (slab->local && !little_used)
			little_used = slab;
		else if (slab->carved < slab->capacity && !fresh)
			fresh = slab;
		kf_list_del(&slab->link);
		kf_list_add_tail(&slab->link, list);
	}
	return little_used ? little_used : fresh;
}

/* The source, if it has free blocks. Retires a source that is exhausted. */
static struct kf_slab *bin_source_slab(struct kf_bin *bin)
{
	struct kf_slab *slab = kf_bin_source(bin);

	if (!slab || slab->local)
		return slab;
	if (bin_slab_is_exhausted(slab)) {
		kf_slab_retire(slab);
		bin->source = 0;
	}
	return NULL;
}

/*
 * Find blocks for an empty bin; @make: make a slab if there are none. Returns
 * the number of blocks.
 */
static uint32_t bin_take(struct kf_heap *heap, unsigned int class, bool make)
{
	struct kf_bin *bin = &heap->front.bin[class];
	bool has_cached = heap->cache[class].nr;
	struct kf_slab *slab = NULL;
	uint32_t nr = 0;

	if (has_cached && bin_is_medium(class * sizeof(*bin)))
		nr = kf_cache_take(heap, class * sizeof(*bin));
	if (!nr)
		slab = bin_source_slab(bin);
	if (!slab && !nr) {
		heap->reuse =
			!__atomic_load_n(&kf_cache_barred, __ATOMIC_RELAXED);
		slab = bin_next_slab(heap, class);
		if (has_cached && (!slab || !slab->local)) {
			nr = kf_cache_take(heap, class * sizeof(*bin));
			slab = nr ? NULL : slab;
		}
	}
	if (!slab && !nr && make)
		slab = kf_slab_make(heap, class);
	return slab ? kf_slab_take(heap, slab, bin) : nr;
}

static bool bin_fill(struct kf_heap *heap, unsigned int class, size_t size,
		     bool make)
{
	uint32_t nr = bin_take(heap, class, make);

	if (nr)
		nr = kf_heap_bound(heap, class * sizeof(struct kf_bin), nr);
	if (nr) {
		bin_count_fill(heap, class, nr, size);
		kf_box_refill(kf_class_bytes(class));
	}
	return nr;
}

static bool bin_has_block(struct kf_bin *bin)
{
	void *first = kf_bin_first(bin);

	if (kf_link_is_damaged(first))
		kf_audit_bin(bin);
	return kf_link_leads_on(first);
}

/*
 * Fill a bin that can serve a class, and return its class. Before a slab is
 * made, the bins of the next medium classes are tried: their rounding wastes
 * less than the pages of a slab that may have no other use. 0: the kernel has
 * no more memory, or a sample is due. A sample that is due in a larger class
 * becomes due in this class, as there may be no request for the larger class.
 * In a heap of marked blocks it waits, as the block was drawn already.
 */
static unsigned int bin_find_class(struct kf_heap *heap, unsigned int class,
				   size_t size, bool near)
{
	unsigned int last = class;

	if (near && class > KF_NR_TINY)
		last = KF_MIN(class + BIN_NEAR_CLASSES, KF_NR_CLASSES - 1u);
	for (unsigned int c = class; c <= last; c++) {
		if (bin_has_block(&heap->front.bin[c]))
			return c;
		if (kf_heap_sample_is_due(heap, c) && heap->marks)
			continue;
		if (kf_heap_sample_is_due(heap, c)) {
			heap->due[c] = 0;
			heap->due[class] = kf_sample_epoch;
			heap->due_mean[class] = heap->due_mean[c];
			heap->due_at[class] = heap->due_at[c];
			return 0;
		}
		if (bin_fill(heap, c, size, false))
			return c;
	}
	return !kf_heap_sample_is_due(heap, class) &&
			       bin_fill(heap, class, size, true)
		       ? class
		       : 0;
}

void *kf_heap_alloc(struct kf_heap *heap, unsigned int class, size_t size,
		    bool near, bool *zeroed)
{
	void *block = NULL;

	kf_heap_enter(heap);
	kf_remote_collect(heap);
	class = bin_find_class(heap, class, size, near);
	if (class) {
		struct kf_bin *bin = &heap->front.bin[class];

		*zeroed = bin->source & KF_BIN_ZEROED;
		block = bin_pop(heap, bin, class * sizeof(*bin));
	}
	kf_heap_leave(heap);
	return block;
}

void kf_heap_ready(struct kf_heap *heap, unsigned int class, size_t size,
		   bool near)
{
	kf_heap_enter(heap);
	bin_find_class(heap, class, size, near);
	kf_heap_leave(heap);
}

/*
 * kf_heap_alloc() without @zeroed: kf_heap_refill() passes no address of a
 * local variable and so can tail-call this function.
 */
static __noinline void *bin_refill_from_any(struct kf_heap *heap,
					    unsigned int class, size_t size,
					    bool near)
{
	bool zeroed;

	return kf_heap_alloc(heap, class, size, near, &zeroed);
}

/*
 * The common refill, four of five: take the source's local list. Does what
 * bin_find_class() would do, but makes all checks before the first change.
 * NULL: nothing was done, as the case is not the common one.
 */
static __always_inline_kf void *bin_refill_from_source(struct kf_heap *heap,
						       struct kf_bin *bin,
						       size_t offset,
						       size_t size)
{
	struct kf_slab *slab = kf_bin_source(bin);
	uint64_t *sum = heap->front.slot->scalar;
	void *block, *next;
	uint64_t nr, bytes;

	if (unlikely(!slab) || !slab->local || unlikely(heap->counters.shared))
		return NULL;
	block = slab->local;
	nr = (uint64_t)slab->carved - slab->used;
	bytes = nr * offset; /* the offset of a tiny bin is its block size */
	if (unlikely(!kf_slab_is_block(slab, block)) ||
	    !kf_countdown_may_pass(&heap->countdown, (int64_t)bytes))
		return NULL;
	next = kf_link_next(block);
	if (kf_link_is_damaged(next))
		return NULL;
	heap->countdown.left -= (int64_t)bytes;
	slab->local = NULL;
	slab->used = slab->carved;
	bin->source = (uintptr_t)slab;
	bin->coded = kf_link_code(next);
	*kf_slab_key(block) = 0;
	sum[KF_SLOT_cache_fills]++;
	sum[KF_SLOT_asked_sample] += size * nr;
	sum[KF_SLOT_given_sample] += bytes;
	sum[KF_SLOT_taken] += bytes;
	kf_slot_pair(heap->front.slot, offset)->mallocs++;
	kf_probe_cache_fill(offset, nr);
	return block;
}

/* Whether nothing is due that the slow path has to do. */
static inline bool bin_may_refill(const struct kf_heap *heap,
				  unsigned int class)
{
	return kf_process_is_current() && !kf_heap_sample_is_due(heap, class) &&
	       !kf_heap_tick_is_due(heap);
}

/*
 * Charge a cached block that kf_fast_reuse() could not hand out. It stays in
 * the cache: a sample is due in its class afterwards, or the countdown, drawn
 * anew, was charged for one. False: nothing was done.
 */
static bool bin_cross(struct kf_heap *heap, unsigned int class)
{
	size_t bytes = kf_class_bytes(class);

	if (!kf_load(&heap->cache[class].first) ||
	    kf_heap_sample_is_due(heap, class) ||
	    kf_countdown_may_pass(&heap->countdown, (int64_t)bytes))
		return false;
	kf_heap_enter(heap);
	if (!kf_countdown_pass(&heap->countdown, bytes, 1))
		bin_set_due(heap, class, heap->cache[class].first);
	kf_heap_leave(heap);
	return true;
}

void *kf_heap_refill(struct kf_heap *heap, size_t offset, size_t size,
		     bool near)
{
	struct kf_bin *bin = (void *)((char *)heap->front.bin + offset);
	unsigned int class = (unsigned int)(offset / sizeof(*bin));
	void *block = NULL;

	if (bin_is_medium(offset) && bin_cross(heap, class))
		return NULL;
	if (!offset || kf_bin_first(bin) ||
	    ++heap->refills % KF_FAST_REFILLS == 0 ||
	    !bin_may_refill(heap, class))
		return NULL;
	if (!bin_is_medium(offset)) {
		kf_heap_enter(heap);
		block = bin_refill_from_source(heap, bin, offset, size);
		kf_heap_leave(heap);
	}
	return likely(block) ? block
			     : bin_refill_from_any(heap, class, size, near);
}

/*
 * Return a bin's blocks to their slabs. A sample that was due after these
 * blocks is due no more: the blocks are charged again when a bin takes them,
 * and are then as likely to be sampled.
 */
static uint32_t bin_flush(struct kf_heap *heap, struct kf_bin *bin)
{
	struct kf_slab *slab = kf_bin_source(bin);
	unsigned int class = (unsigned int)(bin - heap->front.bin);
	uint32_t nr = 0;

	heap->due[class] = 0;
	if (bin->source & KF_BIN_CACHED)
		return kf_cache_flush(heap, bin);
	bin->source = 0;
	while (bin_has_block(bin)) {
		void **block = kf_bin_first(bin);

		bin->coded = *block;
		kf_slab_return(heap, slab, block);
		nr++;
	}
	kf_heap_untake_tiny(heap, class, nr);
	return nr;
}

static void bin_drop_slabs(struct kf_heap *heap, unsigned int class)
{
	struct kf_list *pos, *tmp;

	kf_list_for_each_safe(pos, tmp, &heap->slabs[class]) {
		if (!bin_slab_at(pos)->used)
			kf_slab_dispose(heap, bin_slab_at(pos));
	}
}

void kf_heap_trim(struct kf_heap *heap)
{
	kf_heap_enter(heap);
	kf_cache_drop(heap);
	kf_runs_drop(heap);
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		struct kf_slab *slab = kf_bin_source(&heap->front.bin[class]);

		if (slab && !slab->used)
			kf_slab_dispose(heap, slab);
	}
	kf_heap_leave(heap);
	if (heap->marked)
		kf_heap_trim(heap->marked);
}

static void bin_flush_class(struct kf_heap *heap, unsigned int class)
{
	uint32_t nr = bin_flush(heap, &heap->front.bin[class]);

	if (nr) {
		kf_heap_stat(heap, KF_SLOT_cache_flushes, 1);
		kf_probe_cache_flush(kf_class_bytes(class), nr);
	}
	bin_drop_slabs(heap, class);
}

/* Bytes of the heap's slabs, without its own blocks in the block cache. */
static uint64_t bin_carved(const struct kf_heap *heap)
{
	return heap->front.slot->scalar[KF_SLOT_carved] - (uint64_t)heap->kept;
}

/* Give blocks back to their slabs, and empty slabs to the run cache. */
static void bin_flush_all(struct kf_heap *heap)
{
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		if (heap->nr_slabs[class] || heap->front.bin[class].source)
			bin_flush_class(heap, class);
	}
	kf_remote_send_all(heap);
	heap->carved_peak = bin_carved(heap);
}

/*
 * A bin or a list of the block cache may be all that keeps a slab. A thread
 * that frees most of what it had may sleep for long afterwards, and no other
 * thread can flush its bins: they are flushed each time that half of the slabs,
 * or of what is left of them, has gone, if the run cache shows that little is
 * live.
 */
void kf_heap_flush_drained(struct kf_heap *heap)
{
	uint64_t carved = bin_carved(heap);
	uint64_t cached = ((uint64_t)heap->runs.nr_pages << KF_PAGE_SHIFT) +
			  (uint64_t)heap->kept;

	if (carved > heap->carved_peak)
		heap->carved_peak = carved;
	else if (carved <= heap->carved_peak / 2 && carved > PINNED_MAX &&
		 cached > carved / 2)
		bin_flush_all(heap);
}

void kf_heap_tick(void)
{
	if (likely(!kf_pages_tick())) {
		if (unlikely(kf_load(&kf_reclaim_goes_on)))
			kf_heap_reclaim_old();
		return;
	}
	if (kf_heap_self())
		kf_heap_trim(kf_heap_self());
	kf_heap_scavenge();
	kf_heap_reclaim_old();
	if (kf_pages_exceeds_dirty_max())
		kf_pages_set_live(kf_heap_live());
	kf_pages_release_deferred();
	kf_moments_tick();
}

void kf_heap_flush(struct kf_heap *heap)
{
	if (heap->marked)
		kf_heap_flush(heap->marked);
	kf_heap_enter(heap);
	kf_remote_collect(heap);
	bin_flush_all(heap);
	kf_runs_drop(heap);
	kf_heap_leave(heap);
}
