/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Spares: empty slabs that a heap keeps for its next one.
 *
 * A slab that comes and goes would otherwise take the pages lock each time.
 * Few are kept, none longer than usual, and they go with the next tick of the
 * clock that finds them unused.
 */
#include "heap/heap.h"

#include "pages/pages.h"

bool kf_spare_put(struct kf_heap *heap, struct kf_slab *slab)
{
	if (heap->nr_spares == KF_NR_SPARES || kf_slab_is_sparse(slab) ||
	    slab->run.nr_pages > KF_SLAB_PAGES || slab->run.private)
		return false;
	slab->used = 0;
	slab->zeroed = false;
	heap->spare[heap->nr_spares++] = slab;
	return true;
}

struct kf_slab *kf_spare_get(struct kf_heap *heap, size_t nr_pages)
{
	for (unsigned int i = heap->nr_spares; i-- > 0;) {
		struct kf_slab *slab = heap->spare[i];

		if (slab->run.nr_pages != nr_pages)
			continue;
		heap->spare[i] = heap->spare[--heap->nr_spares];
		return slab;
	}
	return NULL;
}

void kf_spare_drop(struct kf_heap *heap)
{
	while (heap->nr_spares)
		kf_pages_free(&heap->spare[--heap->nr_spares]->run);
}
