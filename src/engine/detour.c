/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detours: see detour.h.
 */
#include "engine/detour.h"

#include "engine/marked.h"
#include "pages/pages.h"
#include "sys/thread.h"

bool kf_detour_on = true;
bool kf_detour_strict;

struct kf_heap kf_heap_detour;

__thread struct kf_detour kf_detour __attribute__((tls_model("initial-exec")));

uint32_t kf_detour_number;

static bool kept; /* constant after start */

void kf_detour_keep(void)
{
	kept = true;
}

void kf_detour_start(bool strict)
{
	__atomic_store_n(&kf_detour_strict, strict, __ATOMIC_RELAXED);
	__atomic_store_n(&kf_detour_number, kf_detour_number + 1,
			 __ATOMIC_RELAXED);
	/* pairs with the acquire load of kf_detour_is_due() */
	__atomic_store_n(&kf_detour_on, true, __ATOMIC_RELEASE);
	kf_process_close();
}

void kf_detour_stop(void)
{
	__atomic_store_n(&kf_detour_on, kept, __ATOMIC_RELEASE);
	__atomic_store_n(&kf_detour_strict, false, __ATOMIC_RELAXED);
}

/* What it has of others' goes home before it hands out a block that is seen. */
void kf_detour_set_out(void)
{
	if (!kf_detour_on)
		return;
	kf_detour.number = __atomic_load_n(&kf_detour_number, __ATOMIC_RELAXED);
	if (kf_detour_strict && kf_heap_self->has_bins)
		kf_heap_send_foreign(kf_heap_self);
}

/* The calling thread's heap, whatever it points at. */
static struct kf_heap *own_heap(void)
{
	struct kf_heap *heap = kf_heap_self;

	if (heap == &kf_heap_detour)
		return kf_detour.hidden;
	return heap->own ? heap->own : heap;
}

/* Signal handlers may push and pop: inside of a call they go the long way. */
void kf_detour_bring(void)
{
	struct kf_heap *heap = own_heap();

	if (heap->front)
		heap->tags = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (kf_heap_self != &kf_heap_detour)
		kf_detour.tagged = kf_heap_self != heap;
	kf_heap_self = heap;
}

/*
 * Most programs never set out: it is filled in when one does, and no page of it
 * written before. Two threads at once write the same.
 */
static struct kf_heap *detour(void)
{
	struct kf_heap *heap = &kf_heap_detour;

	/* pairs with the release below */
	if (likely(__atomic_load_n(&heap->aside, __ATOMIC_ACQUIRE)))
		return heap;
	__atomic_store_n(&heap->slot, kf_heap_empty.slot, __ATOMIC_RELAXED);
	__atomic_store_n(&heap->own, heap, __ATOMIC_RELAXED);
	__atomic_store_n(&heap->aside, true, __ATOMIC_RELEASE);
	return heap;
}

void kf_detour_hide(void)
{
	struct kf_heap *heap = own_heap(), *front = heap->front;
	struct kf_detour *self = &kf_detour;
	bool quick = front && front->tags && kf_process_is_quiet();

	if (front)
		heap->tags = quick ? front->tags : NULL;
	if (self->tagged && quick) {
		kf_heap_self = front;
	} else if (self->tagged || self->forked ||
		   __atomic_load_n(&kf_detour_on, __ATOMIC_RELAXED)) {
		self->hidden = heap;
		self->plain =
			self->tagged || self->forked ? &kf_heap_empty : heap;
		kf_heap_self = detour();
	} else {
		kf_heap_self = heap;
	}
}

/* One that leads to the marked heap that there is now. */
static struct kf_heap *front_of(struct kf_heap *heap)
{
	struct kf_heap *marked = kf_marked_heap(heap), *front = heap->front;

	if (!marked)
		return NULL;
	if (!front) {
		front = kf_meta_alloc(sizeof(*front));
		if (!front)
			return NULL;
		front->slot = kf_heap_empty.slot;
		front->aside = true;
		front->own = heap;
		heap->front = front;
	}
	front->behind = marked;
	front->theirs = kf_front_frees((uintptr_t)marked | KF_SLAB_MARKED);
	return front;
}

struct kf_heap *kf_detour_tag(bool on, void *tags, void *tag)
{
	struct kf_heap *heap = own_heap(), *front = heap->front;

	if (tags && heap->has_bins)
		front = front_of(heap);
	if (front) {
		front->tags = tags;
		front->tag = tag;
	}
	kf_detour.tagged = on;
	if (!kf_detour.depth)
		kf_detour_hide();
	return front;
}

uint32_t kf_detour_step_out(void)
{
	uint32_t depth = kf_detour.depth;

	if (!depth || !kf_detour_on)
		return 0;
	kf_detour.depth = 1;
	kf_detour_leave();
	return depth;
}

void kf_detour_step_in(uint32_t depth)
{
	if (!depth)
		return;
	kf_detour.depth = (uint16_t)depth;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	kf_detour_bring();
}
