// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checks of free blocks. free() does not test whether a pointer into a slab is
 * the start of a block, and a write to a free block goes unnoticed: both show
 * in the lists of free blocks afterwards.
 */
#include "heap/audit.h"

#include "heap/heap.h"

/* Constant after the start. */
static void (*audit_handler)(enum konf_misuse wrong, const void *p);

void kf_audit_report(enum konf_misuse wrong, const void *p)
{
	if (audit_handler)
		audit_handler(wrong, p);
}

void kf_audit_report_to(void (*hear)(enum konf_misuse wrong, const void *p))
{
	audit_handler = hear;
}

static bool audit_lies_in(const struct kf_slab *slab, const char *p)
{
	const char *blocks = kf_slab_blocks(slab);

	return p >= blocks && p < blocks + slab->carved * slab->size;
}

/*
 * What came into a list by a free has the key, wherever it lies; what it has
 * not was written there.
 */
static void audit_report(const struct kf_slab *slab, const void *before,
			 const void *p)
{
	if (audit_lies_in(slab, p) && kf_slab_looks_free(slab, p))
		kf_audit_report(KONF_INVALID_POINTER, p);
	else
		kf_audit_report(KONF_WRITE_AFTER_FREE, before ? before : p);
}

/* Returns what is left of @budget. */
static uint32_t audit_list(const struct kf_slab *slab, uint32_t budget)
{
	const void *before = NULL;
	const void *p = slab->local;

	for (; p && budget; budget--) {
		if (!kf_slab_is_block(slab, p)) {
			audit_report(slab, before, p);
			break;
		}
		before = p;
		p = kf_link_next(p);
	}
	return budget;
}

bool kf_audit_cache(struct kf_heap *heap, unsigned int class)
{
	struct kf_cached *cache = &heap->cache[class];
	const void *before = NULL;
	const void *p = cache->first;

	for (uint64_t nr = cache->nr; p && nr--;) {
		const struct kf_slab *slab = kf_slab_at(p);

		if (!slab || !kf_slab_is_block(slab, p) ||
		    !kf_slab_looks_free(slab, p)) {
			*cache = (struct kf_cached){NULL, 0};
			kf_audit_report(KONF_WRITE_AFTER_FREE,
					before ? before : p);
			return false;
		}
		before = p;
		p = kf_link_next(p);
	}
	return true;
}

void kf_audit_heap(struct kf_heap *heap, uint32_t budget)
{
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		struct kf_list *pos;

		if (class > KF_NR_TINY)
			kf_audit_cache(heap, class);
		kf_list_for_each(pos, &heap->slabs[class])
			budget = audit_list(
				kf_container_of(pos, struct kf_slab, link),
				budget);
	}
	if (heap->marked && !heap->marked->busy)
		kf_audit_heap(heap->marked, budget);
}

/*
 * The block whose link it was has been handed out, but the program may not have
 * written to it since. NULL if others have that word as well.
 */
static const void *audit_find_link(const struct kf_slab *slab, const void *link)
{
	const char *p = slab ? kf_slab_blocks(slab) : NULL;
	const void *found = NULL;

	for (uint32_t i = 0; slab && i < slab->carved; i++, p += slab->size) {
		if (*(void *const *)(const void *)p != link)
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

void kf_audit_bin(struct kf_bin *bin)
{
	const struct kf_slab *slab = NULL;
	const void *link = bin->coded;

	if (!(bin->source & KF_BIN_CACHED))
		slab = kf_bin_source(bin);
	/* The blocks behind the damaged link are never handed out again. */
	bin->coded = kf_link_code(NULL);
	kf_audit_report(KONF_WRITE_AFTER_FREE, audit_find_link(slab, link));
}

void kf_audit_link(const void *block)
{
	kf_audit_report(KONF_WRITE_AFTER_FREE, block);
}

void kf_audit_local(struct kf_slab *slab)
{
	const void *p = slab->local;

	/* These blocks are never handed out again. */
	slab->local = NULL;
	slab->used = slab->carved;
	audit_report(slab, NULL, p);
}

bool kf_audit_suspect(struct kf_heap *owner, void *p)
{
	void *none = NULL;

	/* pairs with the acquire of kf_audit_judge() */
	return __atomic_compare_exchange_n(&owner->suspect, &none, p, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void kf_audit_judge(struct kf_heap *heap)
{
	void *p = __atomic_exchange_n(&heap->suspect, NULL, __ATOMIC_ACQUIRE);
	struct kf_slab *slab = p ? kf_slab_at(p) : NULL;

	if (!slab)
		return;
	/* What does not look free any more has been handed out meanwhile. */
	if (!kf_slab_looks_free(slab, p) || kf_slab_has_free(heap, slab, p)) {
		kf_counters_add(&heap->counters,
				&kf_slot_pair(heap->front.slot,
					      kf_slab_bin_offset(slab))
					 ->frees,
				-1);
		kf_audit_report(KONF_DOUBLE_FREE, p);
		return;
	}
	kf_slab_return(heap, slab, p);
}

bool kf_audit_shared_has(const struct kf_slab *slab, const void *p)
{
	struct kf_heap *heap = kf_heap_shared_lock();
	bool found;

	if (!heap)
		return false;
	found = kf_slab_has_free(heap, slab, p);
	kf_heap_shared_unlock();
	return found;
}
