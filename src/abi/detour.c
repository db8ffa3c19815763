/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of threads that are on a detour: see detour.h.
 *
 * A block is written down as given when it is ours, and as taken before it can
 * be another's: so the order of the times is one in which all that happened
 * could have happened.
 *
 * To read the clock costs as much as to take a block: so calls that stay on the
 * fast path, which all last about as long, are not timed.
 */
#include "abi/detour.h"

#include "abi/abi.h"
#include "abi/tagged.h"
#include "abi/tiny.h"
#include "core/recorder.h"
#include "record/pen.h"
#include "sys/clock.h"

/* Returns 0 for what is not timed. */
static inline uint64_t begin(bool fast)
{
	return fast ? 0 : kf_clock_ticks();
}

/* Whether the thread's heap has such a block ready. */
static inline bool is_ready(size_t size)
{
	return size <= KF_TINY_MAX &&
	       kf_link_leads_on(
		       kf_bin_first(&kf_heap_self->bin[kf_class_of(size)]));
}

/* Whether the block's slab is the heap's, with others in use. */
static inline bool is_own(const void *p)
{
	const struct kf_slab *slab =
		kf_container_of(kf_map_get(p), struct kf_slab, run);

	return kf_glance(&slab->owner) == (uintptr_t)kf_heap_self &&
	       slab->used > 1;
}

static inline void *end(enum kf_record_kind kind, uint64_t began, void *p,
			size_t size, size_t align)
{
	kf_recorder_leave();
	if (kf_record_is_on())
		kf_record_gave(kind, began, p, size, align);
	return p;
}

void *kf_detour_malloc_any(size_t size)
{
	uint32_t mark;
	uint64_t began;
	void *p;

	kf_recorder_enter();
	began = begin(is_ready(size));
	mark = kf_tagging_mark();
	p = mark ? kf_tagged_malloc(size, mark) : kf_malloc(size);
	return end(KF_RECORD_MALLOC, began, p, size, 0);
}

/*
 * Whether a signal handler came where a call that is seen begins or ends, with
 * the heap hidden still: none of the handler's calls is seen there then.
 */
static inline bool is_inside(void)
{
	return unlikely(kf_detour.depth);
}

static __noinline void *gave_far(void *p, size_t size,
				 struct kf_record_pen *pen, uint8_t *end,
				 uint64_t now)
{
	kf_pen_write_far(pen, end, KF_RECORD_MALLOC_QUICK, (uintptr_t)p, size,
			 now);
	kf_unknown(p);
	return p;
}

KF_LEAF void *kf_detour_malloc(size_t size)
{
	size_t offset = KF_ALIGN_UP(size, (size_t)16);
	struct kf_record_pen *pen = kf_record_pen;
	uint64_t now;
	uint8_t *end;
	void *p;

	if (is_inside() || !kf_pen_lift(pen, &end))
		return kf_malloc_other(size);
	p = kf_fast_alloc(kf_detour.plain, offset);
	if (unlikely(!p)) {
		kf_pen_lower(pen, end);
		return kf_malloc_other(size);
	}
	kf_probe_alloc((uintptr_t)p, size, offset);
	if (unlikely(!kf_pen_write(pen, end, KF_RECORD_MALLOC_QUICK, false,
				   (uintptr_t)p, size, &now)))
		return gave_far(p, size, pen, end, now);
	return p;
}

void *kf_detour_calloc(size_t size)
{
	uint32_t mark;
	uint64_t began;
	void *p;

	kf_recorder_enter();
	began = begin(is_ready(size));
	mark = kf_tagging_mark();
	p = mark ? kf_tagged_calloc(size, mark) : kf_calloc(1, size);
	return end(KF_RECORD_CALLOC, began, p, size, 0);
}

void *kf_detour_aligned(size_t align, size_t size)
{
	uint32_t mark;
	uint64_t began;
	void *p;

	kf_recorder_enter();
	began = begin(false);
	mark = kf_tagging_mark();
	p = mark ? kf_tagged_aligned(align, size, mark)
		 : kf_aligned(align, size);
	return end(KF_RECORD_ALIGNED, began, p, size, align);
}

void *kf_detour_realloc(void *p, size_t size)
{
	uint32_t mark;
	uint64_t began;

	kf_recorder_enter();
	began = begin(false);
	if (p && kf_record_is_on())
		kf_record_takes(KF_RECORD_REALLOC_OLD, p);
	mark = kf_tagging_mark();
	p = mark ? kf_tagged_realloc(p, size, mark) : kf_realloc(p, size);
	return end(KF_RECORD_REALLOC, began, p, size, 0);
}

void kf_detour_free_any(void *p)
{
	uint64_t began = 0;
	bool is_on, fast;

	kf_recorder_enter();
	is_on = kf_record_is_on();
	fast = is_own(p);
	if (is_on)
		began = kf_record_takes(KF_RECORD_FREE, p);
	kf_free(p);
	kf_recorder_leave();
	if (is_on)
		kf_record_took(fast ? 0 : began);
}

/* Whether a block can be freed at once; what is amiss is left to kf_free(). */
static inline bool is_plain(const struct kf_heap *heap,
			    const struct kf_slab *slab, void *p)
{
	return likely(kf_glance(&slab->owner) == (uintptr_t)heap) &&
	       likely(*kf_slab_key(p) != (uintptr_t)heap) &&
	       likely(slab->used > 1) && likely(!((uintptr_t)p & 15));
}

/* After it was written down. */
static __always_inline_kf void push(struct kf_heap *heap, struct kf_slab *slab,
				    void *p)
{
	kf_fast_push(heap, slab, p);
	kf_probe_release((uintptr_t)p, slab->size);
	slab->used--;
}

static __noinline void free_far(void *p, struct kf_slab *slab,
				struct kf_record_pen *pen, uint8_t *end,
				uint64_t now)
{
	kf_pen_write_far(pen, end, KF_RECORD_FREE_QUICK, (uintptr_t)p, 0, now);
	push(kf_detour.plain, slab, p);
}

/*
 * Whether others may have given a block of this heap's. Where they do not hand
 * out each other's blocks it was given by this thread, or by one that had the
 * heap before: and the call that took the heap over has waited, see
 * kf_record_took().
 */
static inline bool given_by_others(void)
{
	return unlikely(__atomic_load_n(&kf_foreign_kept, __ATOMIC_RELAXED));
}

KF_LEAF void kf_detour_free(void *p, struct kf_slab *slab)
{
	struct kf_record_pen *pen = kf_record_pen;
	struct kf_heap *heap = kf_detour.plain;
	uint64_t now;
	uint8_t *end;

	if (is_inside() || !is_plain(heap, slab, p) ||
	    !kf_pen_lift(pen, &end)) {
		kf_free_other(p);
		return;
	}
	if (unlikely(!kf_pen_write(pen, end, KF_RECORD_FREE_QUICK,
				   given_by_others(), (uintptr_t)p, 0, &now))) {
		free_far(p, slab, pen, end, now);
		return;
	}
	push(heap, slab, p);
}
