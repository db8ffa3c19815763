// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The observed mode: each call is recorded, or needs a check first, because the
 * thread's tag needs the slow path, or because this is the thread of a forked
 * child without a stats file. Then the thread's inner front makes the call.
 *
 * An allocation is recorded after it, a free before it. So the order of times
 * in the recording is an order in which the calls could have happened.
 *
 * Reading the clock costs as much as an allocation, so calls on the fast path,
 * which all take about the same time, are not timed. A call that only has to be
 * recorded, with small numbers, takes a few stores (record/cursor.h).
 */
#include "mode/mode.h"

#include "core/recorder.h"
#include "core/tagging.h"
#include "heap/remote.h"
#include "record/cursor.h"
#include "sys/clock.h"

/* Returns 0 for a call that is not timed. */
static inline uint64_t observed_begin(bool fast)
{
	return fast ? 0 : kf_clock_ticks();
}

/* Whether the thread's bin has a block of this size. */
static inline bool observed_is_ready(size_t size)
{
	const struct kf_bin *bin =
		&kf_self.inner->bin[kf_class_of(KF_MIN(size, KF_TINY_MAX))];

	return size <= KF_TINY_MAX && kf_link_leads_on(kf_bin_first(bin));
}

/* Whether the block's slab is the thread's and has other used blocks. */
static inline bool observed_is_own(const void *p)
{
	const struct kf_slab *slab =
		kf_container_of(kf_map_get(p), struct kf_slab, run);

	return KF_READ_ONCE(&slab->owner) == (uintptr_t)kf_self.inner &&
	       slab->used > 1;
}

/* Whether the call is to be recorded: the thread has a place in the recording.
 */
static inline bool is_seen(void)
{
	return kf_record_is_on() && kf_record_is_in();
}

static inline void *observed_end(enum kf_record_kind kind, uint64_t began,
				 void *p, size_t size, size_t align)
{
	bool seen = is_seen();

	kf_recorder_leave();
	if (seen)
		kf_record_gave(kind, began, p, size, align);
	return p;
}

/*
 * Whether the call is inside an observed one: by a signal handler or by the
 * library. It is not recorded.
 */
static inline bool is_inside(void)
{
	return unlikely(kf_self.depth);
}

/* The thread's heap, if calls only have to be recorded; else NULL. */
static inline struct kf_heap *recorded_heap(void)
{
	return likely(kf_self.recorded) ? kf_heap_self() : NULL;
}

static __noinline void *alloc_long(size_t size)
{
	uint32_t mark;
	uint64_t began;
	void *p;

	if (is_inside())
		return kf_front_malloc(kf_self.inner, size);
	kf_recorder_enter();
	began = observed_begin(observed_is_ready(size));
	mark = kf_tagging_mark();
	p = mark ? kf_call_malloc(size, mark)
		 : kf_front_malloc(kf_self.inner, size);
	return observed_end(KF_RECORD_MALLOC, began, p, size, 0);
}

static __noinline void *gave_far(void *p, size_t size,
				 struct kf_write_cursor *cursor, uint8_t *end,
				 uint64_t now)
{
	kf_cursor_write_far(cursor, end, KF_RECORD_MALLOC_QUICK, (uintptr_t)p,
			    size, now);
	kf_hide(p);
	return p;
}

static KF_LEAF void *observed_alloc(size_t size, struct kf_front *front)
{
	struct kf_heap *heap = recorded_heap();
	struct kf_write_cursor *cursor = kf_write_cursor;
	uint64_t now;
	size_t offset;
	uint8_t *end;
	void *p;

	if (unlikely(size > KF_TINY_MAX || !heap) || is_inside() ||
	    !kf_cursor_reserve(cursor, &end))
		return alloc_long(size);
	offset = kf_class_offset(size);
	p = kf_fast_alloc(&heap->front, offset);
	if (unlikely(!p)) {
		kf_cursor_commit(cursor, end);
		return alloc_long(size);
	}
	kf_probe_alloc((uintptr_t)p, size, offset);
	if (unlikely(!kf_cursor_write(cursor, end, KF_RECORD_MALLOC_QUICK,
				      false, (uintptr_t)p, size, &now)))
		return gave_far(p, size, cursor, end, now);
	return p;
}

static void *observed_zeroed(size_t size, struct kf_front *front)
{
	struct kf_front *inner;
	uint32_t mark;
	uint64_t began;
	void *p;

	if (is_inside())
		return kf_self.inner->mode->zeroed(size, kf_self.inner);
	kf_recorder_enter();
	began = observed_begin(observed_is_ready(size));
	mark = kf_tagging_mark();
	inner = kf_self.inner;
	p = mark ? kf_call_calloc(size, mark)
		 : inner->mode->zeroed(size, inner);
	return observed_end(KF_RECORD_CALLOC, began, p, size, 0);
}

static void *observed_aligned(size_t align, size_t size, struct kf_front *front)
{
	struct kf_front *inner;
	uint32_t mark;
	uint64_t began;
	void *p;

	if (is_inside())
		return kf_self.inner->mode->aligned(align, size, kf_self.inner);
	kf_recorder_enter();
	began = observed_begin(false);
	mark = kf_tagging_mark();
	inner = kf_self.inner;
	p = mark ? kf_call_aligned(align, size, mark)
		 : inner->mode->aligned(align, size, inner);
	return observed_end(KF_RECORD_ALIGNED, began, p, size, align);
}

static void *observed_resize(void *p, size_t size, struct kf_front *front)
{
	struct kf_front *inner;
	uint32_t mark;
	uint64_t began;

	if (is_inside())
		return kf_self.inner->mode->resize(p, size, kf_self.inner);
	kf_recorder_enter();
	began = observed_begin(false);
	if (p && is_seen())
		kf_record_takes(KF_RECORD_REALLOC_OLD, p);
	mark = kf_tagging_mark();
	inner = kf_self.inner;
	p = mark ? kf_call_realloc(p, size, mark)
		 : inner->mode->resize(p, size, inner);
	return observed_end(KF_RECORD_REALLOC, began, p, size, 0);
}

static __noinline void free_long(void *p, struct kf_slab *slab)
{
	uint64_t began = 0;
	bool is_on, fast;

	if (!p)
		return;
	if (is_inside() ||
	    (unlikely(kf_mode_elsewhere) && slab->run.kind == KF_RUN_NONE)) {
		kf_front_free(kf_self.inner, p);
		return;
	}
	kf_recorder_enter();
	is_on = is_seen();
	fast = observed_is_own(p);
	if (is_on)
		began = kf_record_takes(KF_RECORD_FREE, p);
	kf_front_free(kf_self.inner, p);
	kf_recorder_leave();
	if (is_on)
		kf_record_took(fast ? 0 : began);
}

/* Whether the free is valid and on the fast path. */
static inline bool observed_is_plain(const struct kf_heap *heap,
				     const struct kf_slab *slab, void *p)
{
	return likely(heap) &&
	       likely(KF_READ_ONCE(&slab->owner) == (uintptr_t)heap) &&
	       likely(*kf_slab_key(p) != (uintptr_t)heap) &&
	       likely(slab->used > 1) && likely(!((uintptr_t)p & 15));
}

/* After the free was recorded. */
static __always_inline_kf void observed_push(struct kf_heap *heap,
					     struct kf_slab *slab, void *p)
{
	kf_fast_push(&heap->front, slab, p);
	kf_probe_release((uintptr_t)p, slab->size);
	kf_slab_unuse(slab);
}

static __noinline void free_far(void *p, struct kf_slab *slab,
				struct kf_write_cursor *cursor, uint8_t *end,
				uint64_t now)
{
	kf_cursor_write_far(cursor, end, KF_RECORD_FREE_QUICK, (uintptr_t)p, 0,
			    now);
	observed_push(recorded_heap(), slab, p);
}

/*
 * Whether another thread may have allocated a block of this heap. Without block
 * caches only this thread and the heap's earlier owners allocate from it, and
 * the call that took the heap over has waited: see kf_record_took().
 */
static inline bool given_by_others(void)
{
	return unlikely(__atomic_load_n(&kf_cache_used, __ATOMIC_RELAXED));
}

static KF_LEAF void observed_free(void *p, struct kf_slab *slab,
				  struct kf_front *front)
{
	struct kf_write_cursor *cursor = kf_write_cursor;
	struct kf_heap *heap = recorded_heap();
	uint64_t now;
	uint8_t *end;

	if (is_inside() || !observed_is_plain(heap, slab, p) ||
	    !kf_cursor_reserve(cursor, &end)) {
		free_long(p, slab);
		return;
	}
	if (unlikely(!kf_cursor_write(cursor, end, KF_RECORD_FREE_QUICK,
				      given_by_others(), (uintptr_t)p, 0,
				      &now))) {
		free_far(p, slab, cursor, end, now);
		return;
	}
	observed_push(heap, slab, p);
}

static const struct kf_mode observed = {
	.alloc = observed_alloc,
	.zeroed = observed_zeroed,
	.resize = observed_resize,
	.aligned = observed_aligned,
	.free = observed_free,
};

struct kf_front kf_front_observed = {.mode = &observed};
