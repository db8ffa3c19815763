/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Thread heaps: filling and flushing their bins.
 */
#include "engine/heap.h"

#include "pages/pages.h"

#include "probes/konfiscator-probes.h"

/* Sparse slabs passed over in a search; more would cost more than it brings. */
#define PASSED_OVER 4

/*
 * The slab that has waited longest, so that free blocks have gathered in it;
 * but one with few used blocks is left to become empty, if others are there.
 */
static struct kf_slab *next_slab(struct kf_heap *heap, unsigned int class)
{
	struct kf_list *list = &heap->slabs[class];
	struct kf_list *first = kf_list_first(list);
	struct kf_slab *slab = NULL;

	for (int i = 0; first && i <= PASSED_OVER; i++) {
		slab = kf_container_of(first, struct kf_slab, link);
		if (slab->used >= slab->carved / 4 || list->prev == first)
			break;
		kf_list_del(first);
		kf_list_add_tail(first, list);
		first = kf_list_first(list);
	}
	return slab;
}

static bool fill(struct kf_heap *heap, unsigned int class, size_t size)
{
	struct kf_slab *slab;
	uint32_t nr;

	kf_heap_collect(heap);
	slab = next_slab(heap, class);
	if (!slab)
		slab = kf_slab_make(heap, class);
	if (!slab)
		return false;
	nr = kf_slab_take(heap, slab, &heap->bin[class]);
	kf_heap_stat(heap, KF_SLOT_cache_fills, 1);
	kf_heap_stat(heap, KF_SLOT_asked_sample, size * nr);
	kf_heap_stat(heap, KF_SLOT_given_sample, (uint64_t)slab->size * nr);
	kf_probe_cache_fill(slab->size, nr);
	return true;
}

void *kf_heap_alloc(struct kf_heap *heap, unsigned int class, size_t size)
{
	struct kf_bin *bin = &heap->bin[class];
	void **block = NULL;

	kf_heap_enter(heap);
	if (bin->head || fill(heap, class, size)) {
		block = bin->head;
		bin->head = *block;
		kf_heap_count(heap, &heap->slot->class[class].mallocs, 1);
	}
	kf_heap_leave(heap);
	return block;
}

static uint32_t flush_bin(struct kf_heap *heap, struct kf_bin *bin)
{
	uint32_t nr = 0;

	while (bin->head) {
		void **block = bin->head;
		struct kf_run *run = kf_map_get(block);

		bin->head = *block;
		*block = NULL;
		kf_slab_return(heap, kf_container_of(run, struct kf_slab, run),
			       block, 1);
		nr++;
	}
	return nr;
}

/* Also the slabs that kf_slab_emptied() kept. */
static void drop_empty(struct kf_heap *heap, unsigned int class)
{
	struct kf_list *pos, *tmp;

	kf_list_for_each_safe(pos, tmp, &heap->slabs[class]) {
		struct kf_slab *slab =
			kf_container_of(pos, struct kf_slab, link);

		if (!slab->used)
			kf_slab_dispose(heap, slab);
	}
}

void kf_heap_flush(struct kf_heap *heap)
{
	kf_heap_enter(heap);
	kf_heap_collect(heap);
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		uint32_t nr = flush_bin(heap, &heap->bin[class]);

		if (nr) {
			kf_heap_stat(heap, KF_SLOT_cache_flushes, 1);
			kf_probe_cache_flush(kf_class_bytes(class), nr);
		}
		drop_empty(heap, class);
	}
	kf_heap_leave(heap);
}
