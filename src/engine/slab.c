/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slabs: runs of pages cut into blocks of one class.
 *
 * A slab is carved a page at a time, so that a program that needs few blocks
 * touches few pages. Free blocks are linked through their first word; all
 * other state is in the descriptor.
 */
#include "engine/heap.h"

#include "pages/pages.h"

#include "probes/konfiscator-probes.h"

#define COUNT_SHIFT 48
#define LIST_MASK (((uint64_t)1 << COUNT_SHIFT) - 1)

static inline void **next_of(void *block)
{
	return block;
}

struct kf_slab *kf_slab_make(struct kf_heap *heap, unsigned int class)
{
	bool zeroed;
	struct kf_run *run =
		kf_pages_alloc(kf_class_slab_pages(class), KF_GRANULE_PAGES,
			       KF_RUN_SLAB, &zeroed);
	struct kf_slab *slab = kf_container_of(run, struct kf_slab, run);
	size_t size = kf_class_bytes(class);

	if (!run)
		return NULL;
	slab->pair = class * (uint32_t)sizeof(struct kf_stats_pair);
	slab->size = (uint32_t)size;
	slab->bump = run->start;
	slab->end = run->start + kf_run_bytes(run) / size * size;
	slab->zeroed = zeroed;
	slab->owner = (uintptr_t)heap;
	kf_list_add(&slab->link, &heap->slabs[class]);
	kf_word_add_atomic(KF_WORD_slabs_made, 1);
	kf_probe_slab_new((uintptr_t)run->start, size);
	return slab;
}

void kf_slab_dispose(struct kf_heap *heap, struct kf_slab *slab)
{
	kf_list_del(&slab->link);
	kf_heap_stat(heap, KF_SLOT_carved,
		     -(uint64_t)slab->carved * slab->size);
	kf_word_add_atomic(KF_WORD_slabs_freed, 1);
	kf_probe_slab_free((uintptr_t)slab->run.start, slab->size);
	__atomic_store_n(&slab->owner, 0, __ATOMIC_RELAXED);
	kf_pages_free(&slab->run);
}

/* The last slab of a class stays: it will be wanted again. */
void kf_slab_emptied(struct kf_heap *heap, struct kf_slab *slab)
{
	const struct kf_list *list =
		&heap->slabs[slab->pair / sizeof(struct kf_stats_pair)];

	if (list->next != list->prev)
		kf_slab_dispose(heap, slab);
}

/* Link up to a page of fresh blocks, lowest address first. */
static uint32_t carve(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin)
{
	size_t room = (size_t)(slab->end - slab->bump);
	size_t bytes = KF_MIN(room, KF_MAX(KF_PAGE, slab->size));
	uint32_t nr = (uint32_t)(bytes / slab->size);
	char *block = slab->bump;

	bin->head = block;
	for (uint32_t i = 1; i < nr; i++, block += slab->size)
		*next_of(block) = block + slab->size;
	*next_of(block) = NULL;
	slab->bump = block + slab->size;
	slab->carved += nr;
	slab->used += nr;
	bin->zeroed = slab->zeroed;
	kf_heap_stat(heap, KF_SLOT_carved, (uint64_t)nr * slab->size);
	return nr;
}

uint32_t kf_slab_take(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin)
{
	uint32_t nr = slab->carved - slab->used;

	if (nr) {
		bin->head = slab->local;
		bin->zeroed = 0;
		slab->local = NULL;
		slab->used = slab->carved;
	} else {
		nr = carve(heap, slab, bin);
	}
	if (slab->bump == slab->end) {
		__atomic_store_n(&slab->owner, slab->owner | KF_SLAB_FULL,
				 __ATOMIC_RELAXED);
		kf_list_del(&slab->link);
	}
	return nr;
}

static void *last_of(void *first)
{
	while (*next_of(first))
		first = *next_of(first);
	return first;
}

void kf_slab_return(struct kf_heap *heap, struct kf_slab *slab, void *first,
		    uint32_t nr)
{
	unsigned int class = slab->pair / sizeof(struct kf_stats_pair);

	if (slab->local)
		*next_of(last_of(first)) = slab->local;
	slab->local = first;
	slab->used -= nr;
	if (slab->owner & KF_SLAB_FULL) {
		__atomic_store_n(&slab->owner, slab->owner & ~KF_SLAB_FULL,
				 __ATOMIC_RELAXED);
		kf_list_add_tail(&slab->link, &heap->slabs[class]);
	}
	if (!slab->used)
		kf_slab_emptied(heap, slab);
}

bool kf_slab_is_block(const struct kf_slab *slab, const void *p)
{
	size_t offset = (size_t)((const char *)p - slab->run.start);

	return (const char *)p < slab->bump && offset % slab->size == 0;
}

/* Tell the owner of a slab that has remote frees again. */
static void notify(struct kf_heap *heap, struct kf_slab *slab)
{
	struct kf_slab *old =
		__atomic_load_n(&heap->remote_slabs, __ATOMIC_RELAXED);

	do {
		slab->remote_next = old;
	} while (!__atomic_compare_exchange_n(&heap->remote_slabs, &old, slab,
					      true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

enum kf_remote kf_slab_push_remote(struct kf_slab *slab, void *p)
{
	uint64_t old = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	struct kf_heap *heap = kf_slab_owner(slab);
	uint32_t used = slab->used;
	bool idle = heap->state == KF_HEAP_IDLE;
	uint64_t count;

	do {
		*next_of(p) = (void *)(old & LIST_MASK);
		count = (old >> COUNT_SHIFT) + 1;
	} while (!__atomic_compare_exchange_n(
		&slab->remote, &old, count << COUNT_SHIFT | (uintptr_t)p, true,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED));
	/*
	 * The block is used until its owner takes it home, and the owner
	 * learns of it only by notify(): until then the slab cannot go.
	 */
	if (!old)
		notify(heap, slab);
	if (idle && count == used)
		return KF_REMOTE_LAST;
	return old ? KF_REMOTE_MORE : KF_REMOTE_FIRST;
}

void kf_heap_collect(struct kf_heap *heap)
{
	struct kf_slab *slab, *next;
	uint64_t nr, total = 0, word;

	if (!__atomic_load_n(&heap->remote_slabs, __ATOMIC_RELAXED))
		return;
	/* pairs with the release of notify() */
	slab = __atomic_exchange_n(&heap->remote_slabs, NULL, __ATOMIC_ACQUIRE);
	for (; slab; slab = next) {
		next = slab->remote_next;
		/* pairs with the release of kf_slab_push_remote() */
		word = __atomic_exchange_n(&slab->remote, 0, __ATOMIC_ACQUIRE);
		nr = word >> COUNT_SHIFT;
		total += nr;
		kf_slab_return(heap, slab, (void *)(word & LIST_MASK),
			       (uint32_t)nr);
	}
	kf_heap_stat(heap, KF_SLOT_remote_collected, total);
	kf_probe_remote_collect((uintptr_t)heap, total);
}
