// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The plain mode: the front is inside the thread's heap. Requests that the heap
 * can serve without a lock are served here; others take the slow path.
 */
#include "mode/mode.h"

#include "heap/large.h"

/* 1 to KF_TINY_MAX bytes; the bin is empty. */
static inline void *plain_refill(struct kf_heap *heap, size_t size)
{
	size_t offset = kf_class_offset(size);
	void *p = kf_heap_refill(heap, offset, size, false);

	if (unlikely(!p))
		return NULL;
	kf_probe_alloc((uintptr_t)p, size, offset);
	return p;
}

static __noinline void *plain_fill(size_t size, struct kf_front *front)
{
	size_t usable;
	unsigned int class = kf_class_of_medium(size, &usable);
	bool zeroed;
	void *p = kf_fast_fill(kf_heap_of(front), class, size, true, &usable,
			       &zeroed);

	if (unlikely(!p))
		return kf_slow_alloc(size, front);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

/* Above KF_TINY_MAX, up to KF_SMALL_MAX bytes. */
static inline void *plain_medium(size_t size, struct kf_front *front)
{
	size_t usable;
	unsigned int class = kf_class_of_medium(size, &usable);
	void *p = kf_fast_reuse(kf_heap_of(front), class, usable);

	if (unlikely(!p))
		return plain_fill(size, front);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static inline void *plain_large(struct kf_heap *heap, size_t size)
{
	struct kf_run *run = kf_large_reuse(heap, size);

	if (!run)
		return NULL;
	kf_probe_alloc((uintptr_t)run->start, size, kf_run_bytes(run));
	return run->start;
}

static __noinline void *plain_other(size_t size, struct kf_front *front)
{
	struct kf_heap *heap = kf_heap_of(front);
	void *p;

	if (likely(size - 1 < KF_TINY_MAX))
		p = plain_refill(heap, size);
	else
		p = plain_large(heap, size);
	return likely(p) ? p : kf_slow_alloc(size, front);
}

static void *plain_alloc(size_t size, struct kf_front *front)
{
	if (size - KF_TINY_MAX - 1 < KF_SMALL_MAX - KF_TINY_MAX)
		return plain_medium(size, front);
	return plain_other(size, front);
}

static void *plain_zeroed(size_t size, struct kf_front *front)
{
	bool zeroed;
	size_t usable;
	void *p = NULL;

	if (size <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_of(front), size, true, &usable,
				&zeroed);
	if (unlikely(!p))
		return kf_slow_zeroed(size, front);
	kf_mode_zero(p, usable, zeroed);
	kf_self_stat(KF_SLOT_calloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static void *plain_new(struct kf_heap *heap, size_t size)
{
	bool zeroed;
	size_t usable;
	void *p = kf_fast_pop(heap, size, true, &usable, &zeroed);

	if (unlikely(!p))
		return NULL;
	kf_self_stat(KF_SLOT_realloc_new, 1);
	kf_self_stat(KF_SLOT_realloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static void *plain_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_heap *heap = kf_heap_of(front);
	void *to = NULL;

	if (unlikely(!kf_process_is_current()))
		return kf_slow_resize(p, size, front);
	if (p && size) {
		to = kf_heap_resize(heap, p, size);
		if (likely(to)) {
			kf_probe_resize((uintptr_t)p, (uintptr_t)to, size);
			kf_self_stat(KF_SLOT_realloc_calls, 1);
		}
	} else if (size <= KF_SMALL_MAX && !p) {
		to = plain_new(heap, size);
	}
	return likely(to) ? to : kf_slow_resize(p, size, front);
}

static void *plain_aligned(size_t align, size_t size, struct kf_front *front)
{
	size_t rounded = kf_class_request(size, align);
	bool zeroed;
	size_t usable;
	void *p = NULL;

	if (align <= KF_PAGE && size <= rounded && rounded <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_of(front), rounded, false, &usable,
				&zeroed);
	if (unlikely(!p))
		return kf_slow_aligned(align, size, front);
	kf_self_stat(KF_SLOT_aligned_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

/* An address in a region, but in no slab; false: nothing was done. */
static bool plain_free_large(struct kf_heap *heap, void *p)
{
	struct kf_run *run = kf_map_find(p);

	if (!run || !kf_large_may_free(heap, run, p))
		return false;
	kf_probe_release((uintptr_t)p, kf_run_bytes(run));
	kf_large_free(heap, run);
	return true;
}

/* A block of another thread's slab, of a full one, or one without a list. */
static bool plain_free_small(struct kf_heap *heap, struct kf_slab *slab,
			     void *p)
{
	if (!kf_heap_may_free_small(slab, p))
		return false;
	kf_probe_release((uintptr_t)p, slab->size);
	kf_heap_free_small(heap, slab, p);
	return true;
}

static __noinline void plain_free_other(void *p, struct kf_slab *slab,
					struct kf_front *front)
{
	struct kf_heap *heap = kf_heap_of(front);
	enum kf_run_kind kind = slab->run.kind;
	bool done = false;

	if (kind == KF_RUN_SLAB)
		done = plain_free_small(heap, slab, p);
	else if (kind == KF_RUN_REGION)
		done = plain_free_large(heap, p);
	if (!done)
		kf_slow_free(p, slab, front);
}

static void plain_free(void *p, struct kf_slab *slab, struct kf_front *front)
{
	struct kf_heap *heap = kf_heap_of(front);
	size_t size = slab->size;

	if (kf_fast_keep(heap, slab, p)) {
		kf_probe_release((uintptr_t)p, size);
		return;
	}
	plain_free_other(p, slab, front);
}

const struct kf_mode kf_mode_plain = {
	.alloc = plain_alloc,
	.zeroed = plain_zeroed,
	.resize = plain_resize,
	.aligned = plain_aligned,
	.free = plain_free,
};
