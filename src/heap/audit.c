// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checks of lists of free blocks. The fast path of free() does not test whether
 * a pointer into a slab is the start of a block, and cannot notice a later
 * write to a free block. Both damage a list of free blocks, where these checks
 * find them.
 */
#include "heap/audit.h"

#include "heap/heap.h"
#include "heap/remote.h"

/* Called with each report; constant after the start. */
static void (*audit_handler)(enum konf_misuse wrong, const void *p);

void kf_audit_report(enum konf_misuse wrong, const void *p)
{
	if (audit_handler)
		audit_handler(wrong, p);
}

void kf_audit_report_to(void (*report)(enum konf_misuse wrong, const void *p))
{
	audit_handler = report;
}

static bool audit_lies_in(const struct kf_slab *slab, const char *p)
{
	const char *blocks = kf_slab_blocks(slab);

	return p >= blocks && p < blocks + slab->carved * slab->size;
}

/*
 * Report an address in a list that is not the start of a block. With the key at
 * it, free() put it there: an invalid pointer. Otherwise the program wrote it
 * over the link of the block @before.
 */
static void audit_report(const struct kf_slab *slab, const void *before,
			 const void *p)
{
	if (audit_lies_in(slab, p) && kf_slab_looks_free(slab, p))
		kf_audit_report(KONF_INVALID_POINTER, p);
	else
		kf_audit_report(KONF_WRITE_AFTER_FREE, before ? before : p);
}

/* Check a slab's local list. Returns the blocks that are left of @budget. */
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

const void *kf_audit_cached(const struct kf_cached *cache, uint64_t nr)
{
	const void *before = NULL;
	const void *p = cache->first;

	while (p && nr--) {
		const struct kf_slab *slab = kf_slab_at(p);

		if (!slab || !kf_slab_is_block(slab, p) ||
		    !kf_slab_looks_free(slab, p))
			return before ? before : p;
		before = p;
		p = kf_link_next(p);
	}
	return NULL;
}

bool kf_audit_cache(struct kf_heap *heap, unsigned int class, uint64_t nr)
{
	const void *damaged = kf_audit_cached(&heap->cache[class], nr);

	if (!damaged)
		return true;
	kf_cache_forget(heap, class);
	kf_audit_report(KONF_WRITE_AFTER_FREE, damaged);
	return false;
}

void kf_audit_heap(struct kf_heap *heap, uint32_t budget)
{
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
		struct kf_list *pos;

		if (class > KF_NR_TINY)
			kf_audit_cache(heap, class, UINT64_MAX);
		kf_list_for_each(pos, &heap->slabs[class])
			budget = audit_list(
				kf_container_of(pos, struct kf_slab, link),
				budget);
	}
	if (heap->marked && !heap->marked->busy)
		kf_audit_heap(heap->marked, budget);
}

/*
 * Find the block that a damaged link was read from. malloc has handed out the
 * block, but the link is still in its first word if the program has not written
 * to it since. NULL: not found, or several blocks have this word.
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
	/* Without the key the block was handed out since, so it was free. */
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
