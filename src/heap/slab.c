/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slabs: see slab.h.
 *
 * A slab is carved a page at a time, so that a program that needs few blocks
 * touches few pages. Free blocks are linked through their first word; all other
 * state is in the slab's descriptor.
 */
#include "heap/heap.h"

#include "heap/audit.h"
#include "heap/boundary.h"

#include "pages/pages.h"

#include "probes/konfiscator-probes.h"

static uint64_t slab_numbers; /* slabs made ever; atomic */

static struct kf_slab *slab_take_run(struct kf_heap *heap, size_t nr_pages)
{
	struct kf_run *run =
		kf_runs_take(heap, nr_pages, nr_pages, KF_PAGE, KF_RUN_SLAB);
	struct kf_slab *slab;
	bool zeroed = false;

	if (!run)
		run = kf_runs_alloc(heap, nr_pages, KF_GRANULE_PAGES,
				    KF_RUN_SLAB, &zeroed);
	if (!run)
		return NULL;
	slab = kf_container_of(run, struct kf_slab, run);
	slab->run.remote = 0;
	slab->run.number = kf_fetch_add(&slab_numbers, 1) + 1;
	slab->zeroed = zeroed;
	slab->used = 0;
	slab->carved = 0;
	slab->local = NULL;
	return slab;
}

static uintptr_t slab_owner_tags(const struct kf_heap *heap, size_t size)
{
	if (heap->marks)
		return KF_SLAB_MARKED;
	return size > KF_TINY_MAX ? KF_SLAB_MEDIUM : 0;
}

/*
 * Choose a slab offset (colouring) within the bytes that the blocks leave
 * unused: J. Bonwick, "The slab allocator", 1994. If all slabs had their first
 * block at the same offset in a page, the heads of blocks would compete for few
 * sets of the processor's caches. Blocks of a power of two leave no bytes, so
 * they can serve any alignment. Slabs with marks have no offset: their marks
 * use these bytes.
 *
 * No offset is a multiple of 512. A copy is slow when its destination is a few
 * bytes further in its page than its source, as when the kernel reads a file
 * into a buffer that has a small header.
 */
static uint8_t slab_next_offset(struct kf_heap *heap,
				const struct kf_slab *slab)
{
	size_t left = -(slab->capacity * slab->size) % KF_PAGE;
	size_t nr = left / KF_SLAB_OFFSET_STEP;
	size_t i;

	if (slab->size <= KF_TINY_MAX)
		return 0;
	nr -= nr / 8;
	if (!nr)
		return 0;
	/* Steps by the golden ratio keep successive offsets far apart. */
	heap->next_offset += 159;
	i = heap->next_offset * nr >> 8;
	return (uint8_t)(i + i / 7 + 1);
}

struct kf_slab *kf_slab_make(struct kf_heap *heap, unsigned int class)
{
	size_t size = kf_class_bytes(class);
	size_t mark_bytes = heap->marks ? sizeof(uint32_t) : 0;
	size_t nr_pages =
		kf_class_slab_pages(class, heap->nr_slabs[class], mark_bytes);
	struct kf_slab *slab = slab_take_run(heap, nr_pages);

	if (!slab)
		return NULL;
	heap->kept_max = (int64_t)KF_MAX(
		KF_KEPT_ALL / KF_MAX(kf_word_get(KF_WORD_threads), 1u),
		KF_KEPT_EACH);
	slab->frees = &heap->front.slot->class[class].frees;
	slab->size = size;
	slab->capacity =
		(uint16_t)(kf_run_bytes(&slab->run) / (size + mark_bytes));
	slab->first_offset = heap->marks ? 0 : slab_next_offset(heap, slab);
	slab->inverse = UINT64_MAX / size + 1;
	slab->run.marks = (void *)(slab->run.start + slab->capacity * size);
	__atomic_store_n(&slab->owner,
			 (uintptr_t)heap | slab_owner_tags(heap, size),
			 __ATOMIC_RELAXED);
	kf_list_add(&slab->link, &heap->slabs[class]);
	heap->nr_slabs[class]++;
	kf_class_add(class, 0, 1);
	kf_word_add_atomic(KF_WORD_slabs_made, 1);
	kf_probe_slab_new((uintptr_t)slab->run.start, size);
	return slab;
}

void kf_slab_forget(struct kf_heap *heap, struct kf_slab *slab)
{
	struct kf_bin *bin = &heap->front.bin[kf_slab_class(slab)];

	if (kf_bin_source(bin) == slab)
		bin->source = 0;
	if (!(slab->owner & KF_SLAB_FULL))
		kf_list_del(&slab->link);
	heap->nr_slabs[kf_slab_class(slab)]--;
	kf_heap_stat(heap, KF_SLOT_carved,
		     -(uint64_t)slab->carved * slab->size);
	kf_class_add(kf_slab_class(slab), -(int64_t)slab->carved, -1);
	kf_word_add_atomic(KF_WORD_slabs_freed, 1);
	kf_probe_slab_free((uintptr_t)slab->run.start, slab->size);
	__atomic_store_n(&slab->owner, 0, __ATOMIC_RELAXED);
	/* Tells a double free of its blocks from a free of a wild pointer. */
	slab->capacity = slab->carved;
	slab->carved = 0;
	slab->local = NULL;
}

void kf_slab_dispose(struct kf_heap *heap, struct kf_slab *slab)
{
	kf_slab_forget(heap, slab);
	if (!kf_runs_put(heap, &slab->run))
		kf_pages_free(&slab->run);
}

/*
 * The source of a bin stays, unless it is sparse: the bin is likely to need the
 * slab again.
 */
void kf_slab_emptied(struct kf_heap *heap, struct kf_slab *slab)
{
	if (kf_slab_is_sparse(slab) ||
	    kf_bin_source(&heap->front.bin[kf_slab_class(slab)]) != slab)
		kf_slab_dispose(heap, slab);
}

void kf_slab_emptied_alone(struct kf_heap *heap, struct kf_slab *slab)
{
	kf_heap_enter(heap);
	/* Another thread may have reclaimed the slab before. */
	if (kf_slab_owner(slab) == heap && !slab->used)
		kf_slab_emptied(heap, slab);
	kf_heap_flush_drained(heap);
	kf_heap_leave(heap);
	kf_pages_release_deferred();
}

/* Blocks to carve at a time: more if the pages are dirty already. */
static inline size_t slab_carve_nr(const struct kf_slab *slab)
{
	size_t nr = (slab->zeroed ? KF_PAGE : 4 * KF_PAGE) / slab->size;
	bool few = slab->zeroed || kf_slab_is_sparse(slab);

	return KF_MAX(nr, (size_t)(few ? 1 : 8));
}

/* Carve blocks into an empty bin, lowest address first; returns how many. */
static uint32_t slab_carve(struct kf_heap *heap, struct kf_slab *slab,
			   struct kf_bin *bin)
{
	size_t size = slab->size;
	size_t nr = slab_carve_nr(slab);
	char *block = (char *)kf_slab_blocks(slab) + slab->carved * size;

	nr = KF_MIN(nr, (size_t)(slab->capacity - slab->carved));
	bin->coded = kf_link_code(block);
	for (size_t i = 1; i < nr; i++, block += size) {
		kf_link_set(block, block + size);
		*kf_slab_key(block) = (uintptr_t)heap;
	}
	kf_link_set(block, NULL);
	*kf_slab_key(block) = (uintptr_t)heap;
	__atomic_store_n(&slab->carved, (uint16_t)(slab->carved + nr),
			 __ATOMIC_RELAXED);
	slab->used = (uint16_t)(slab->used + nr);
	bin->source = (uintptr_t)slab | (slab->zeroed ? KF_BIN_ZEROED : 0);
	kf_heap_stat(heap, KF_SLOT_carved, nr * size);
	kf_class_add(kf_slab_class(slab), nr, 0);
	return (uint32_t)nr;
}

/* Whether @p is among the first @nr blocks of a list, which may be damaged. */
static bool slab_list_has(const void *block, const void *p, uint64_t nr)
{
	while (nr-- && kf_link_leads_on(block) && block != p)
		block = kf_link_next(block);
	return block == p;
}

bool kf_slab_has_free(const struct kf_heap *heap, const struct kf_slab *slab,
		      const void *p)
{
	size_t class = kf_slab_class(slab);
	const struct kf_bin *bin = &heap->front.bin[class];
	const struct kf_cached *cache = &heap->cache[class];
	const struct kf_heap *owner = kf_slab_owner(slab);

	if (owner == heap->marked)
		return kf_slab_has_free(owner, slab, p);
	if (slab_list_has(cache->first, p, cache->nr) ||
	    (bin->source & KF_BIN_CACHED &&
	     slab_list_has(kf_bin_first(bin), p, UINT16_MAX)))
		return true;
	return owner == heap &&
	       (slab_list_has(slab->local, p, slab->carved) ||
		(kf_bin_source(bin) == slab &&
		 slab_list_has(kf_bin_first(bin), p, slab->carved)));
}

uint32_t kf_slab_take(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin)
{
	uint32_t nr = slab->carved - slab->used;

	if (!nr)
		return slab_carve(heap, slab, bin);
	if (unlikely(!kf_slab_is_block(slab, slab->local))) {
		kf_audit_local(slab);
		return 0;
	}
	bin->coded = kf_link_code(slab->local);
	bin->source = (uintptr_t)slab;
	slab->local = NULL;
	slab->used = slab->carved;
	return nr;
}

void kf_slab_untake(struct kf_slab *slab, void *first, uint32_t nr)
{
	slab->local = first;
	slab->used = (uint16_t)(slab->used - nr);
}

void kf_slab_retire(struct kf_slab *slab)
{
	__atomic_store_n(&slab->owner, slab->owner | KF_SLAB_FULL,
			 __ATOMIC_RELAXED);
	kf_list_del(&slab->link);
}

void kf_slab_unretire(struct kf_heap *heap, struct kf_slab *slab)
{
	__atomic_store_n(&slab->owner, slab->owner & ~KF_SLAB_FULL,
			 __ATOMIC_RELAXED);
	kf_list_add_tail(&slab->link, &heap->slabs[kf_slab_class(slab)]);
}
