/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marked blocks: see marked.h.
 */
#include "heap/marked.h"

#include "heap/guarded.h"
#include "heap/large.h"
#include "pages/pages.h"

#include <string.h>

struct kf_mark_hooks kf_mark_hooks;

static struct kf_run *marked_run_of(const void *p)
{
	struct kf_run *run = kf_map_find(p);

	return run && run->start == (const char *)p &&
			       (run->kind == KF_RUN_LARGE ||
				run->kind == KF_RUN_MAPPED)
		       ? run
		       : NULL;
}

static void *marked_alloc_large(size_t size, size_t align, bool zeroed,
				uint32_t mark, size_t *usable)
{
	void *p = kf_large_alloc(kf_heap_self(), size, align, zeroed);
	struct kf_run *run;

	if (!p)
		return NULL;
	run = marked_run_of(p);
	run->mark = mark;
	*usable = kf_run_bytes(run);
	return p;
}

/* The block was drawn: it is a sample already, or none. */
static void *marked_alloc_small(struct kf_heap *heap, size_t rounded,
				size_t size, bool near, bool *zeroed)
{
	struct kf_heap *marked = kf_marked_heap(heap);
	unsigned int class = kf_class_of(rounded);
	void *p;

	if (!marked)
		return NULL;
	marked->due[class] = 0;
	marked->first_drawn = true;
	p = kf_heap_alloc(marked, class, size, near, zeroed);
	marked->first_drawn = false;
	return p;
}

static void *marked_alloc_shared(size_t rounded, size_t size, bool near,
				 bool *zeroed)
{
	struct kf_heap *heap = kf_heap_shared_lock();
	void *p;

	if (!heap)
		return NULL;
	p = marked_alloc_small(heap, rounded, size, near, zeroed);
	kf_heap_shared_unlock();
	return p;
}

void *kf_marked_alloc(size_t size, size_t align, bool zeroed, uint32_t mark,
		      size_t *usable)
{
	size_t rounded = kf_class_request(size, align);
	struct kf_heap *heap = kf_heap_get();
	bool near = align <= 16, clean = false;
	struct kf_slab *slab;
	void *p;

	if (rounded > KF_SMALL_MAX || align > KF_PAGE)
		return marked_alloc_large(size, align, zeroed, mark, usable);
	kf_heap_tick();
	p = heap ? marked_alloc_small(heap, rounded, size, near, &clean)
		 : marked_alloc_shared(rounded, size, near, &clean);
	/* While a fork holds the heap, a large block can carry the mark. */
	if (!p)
		return marked_alloc_large(size, align, zeroed, mark, usable);
	slab = kf_slab_at(p);
	*kf_slab_mark(slab, p) = mark;
	*usable = slab->size;
	/* A clean block reads as zeroes but for the link in its first word. */
	if (zeroed)
		memset(p, 0, clean ? sizeof(void *) : slab->size);
	return p;
}

static bool marked_is_block(const struct kf_slab *slab, const void *p)
{
	return kf_slab_has_marks(slab) && kf_slab_is_block(slab, p);
}

uint32_t kf_mark_of(const void *p)
{
	const struct kf_slab *slab = kf_slab_at(p);
	const struct kf_run *run;

	if (slab)
		return marked_is_block(slab, p) ? *kf_slab_mark(slab, p) : 0;
	if (kf_guarded_holds(p))
		return kf_guarded_mark(p) ? *kf_guarded_mark(p) : 0;
	run = marked_run_of(p);
	return run ? run->mark : 0;
}

bool kf_mark_may(const void *p, uint32_t mark)
{
	const struct kf_slab *slab = kf_slab_at(p);

	return !mark || !slab || kf_slab_has_marks(slab);
}

void kf_mark_set(void *p, uint32_t mark)
{
	const struct kf_slab *slab = kf_slab_at(p);

	if (kf_guarded_holds(p))
		*kf_guarded_mark(p) = mark;
	else if (!slab)
		marked_run_of(p)->mark = mark;
	else if (kf_slab_has_marks(slab))
		*kf_slab_mark(slab, p) = mark;
}

void kf_mark_leave(const struct kf_slab *slab, void *p)
{
	uint32_t *at = kf_slab_mark(slab, p);
	uint32_t mark = *at;

	if (!mark)
		return;
	*at = 0;
	kf_mark_hooks.gone(p, slab->size, mark, true);
}

void kf_mark_leave_large(struct kf_run *run)
{
	uint32_t mark = run->mark;

	run->mark = 0;
	kf_mark_hooks.gone(run->start, kf_run_bytes(run), mark, true);
}
