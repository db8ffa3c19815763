/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The modes of heap/front.h: one file for each, and mode.c, which chooses.
 * Nothing outside of this directory asks which mode is on.
 *
 * - plain.c: the thread has a heap; its front is the only one with blocks.
 * - slow.c: every call takes the slow path. The thread has made no call yet or
 *   has no heap, or the engine needs a lock.
 * - hosted.c: the engine needs no lock, as the C library's malloc.
 * - tagged.c: the thread is inside a tag.
 * - observed.c: calls are recorded, or need a check first.
 * - realtime.c: the thread must not allocate; its calls are noted.
 * - passing.c: the library is detached; calls go on to the program's malloc.
 *
 * Modes compose in one way: tagged and observed call the thread's inner front
 * (kf_self.inner), which is one of the first three; realtime calls the front
 * that would have been chosen without it.
 */
#ifndef KF_MODE_MODE_H
#define KF_MODE_MODE_H

#include "heap/fast.h"
#include "heap/front.h"
#include "sys/thread.h"

#include "probes/konfiscator-percall.h"

/*
 * The fast paths have no frame: they call nothing, they jump to the mode, and a
 * stack taken there still starts at their caller.
 */
#ifdef __clang__ /* has an option instead: see configure.ac */
#define KF_LEAF
#else
#define KF_LEAF __attribute__((optimize("omit-frame-pointer")))
#endif

extern struct kf_front kf_front_tagged __kf_hidden;
extern struct kf_front kf_front_observed __kf_hidden;
extern struct kf_front kf_front_hosted __kf_hidden;
extern struct kf_front kf_front_realtime __kf_hidden;
extern struct kf_front kf_front_passing __kf_hidden;

/*
 * Frees blocks of a malloc that was preloaded before this library; NULL: there
 * is none. Constant after the first constructor.
 */
typedef void kf_free_fn(void *p);
extern kf_free_fn *kf_mode_elsewhere __kf_hidden;

/**
 * kf_mode_renew() - the front that a call belongs to, if it is another one
 * @front:	that it came to
 *
 * Context: any thread, before a slow path.
 * Return: the other front, or NULL: go on.
 */
static inline struct kf_front *kf_mode_renew(struct kf_front *front)
{
	struct kf_front *other;

	if (kf_process_is_current())
		return NULL;
	other = kf_front_renew();
	return other != front ? other : NULL;
}

/* The fast path of up to KF_TINY_MAX bytes, or NULL. */
static __always_inline_kf void *kf_front_quick(struct kf_front *front,
					       size_t size)
{
	size_t offset = kf_class_offset(size);
	void *p = kf_fast_alloc(front, offset);

	if (unlikely(!p))
		return NULL;
	kf_keep_in_result(p);
	if (!p)
		__builtin_unreachable();
	/* In the tiny classes the offset is the usable size. */
	kf_probe_alloc((uintptr_t)p, size, offset);
	return p;
}

/**
 * kf_front_malloc() - malloc() by a front, its fast path inlined
 * kf_front_free() - free() likewise
 * @front:	kf_front_self, or the one that a mode passes the call on to
 * @size:	bytes, any
 * @p:		any pointer
 *
 * Context: as malloc().
 * Return: as malloc().
 */
static __always_inline_kf void *kf_front_malloc(struct kf_front *front,
						size_t size)
{
	void *p;

	if (unlikely(size > KF_TINY_MAX))
		return front->mode->alloc(size, front);
	p = kf_front_quick(front, size);
	if (likely(p))
		return p;
	/* The call below must not influence the registers of the fast path. */
	__asm__("" : "+r"(front), "+r"(size) : : "memory");
	return front->mode->alloc(size, front);
}

static __always_inline_kf void kf_front_free(struct kf_front *front, void *p)
{
	struct kf_slab *slab;

	if (unlikely(!kf_fast_free(front, p, &slab))) {
		/* As in kf_front_malloc(). */
		__asm__("" : "+r"(p), "+r"(slab), "+r"(front));
		front->mode->free(p, slab, front);
		return;
	}
	kf_keep_in_argument(p);
	kf_probe_release((uintptr_t)p, slab->size);
	if (kf_slab_unuse(slab))
		kf_slab_emptied_alone(kf_heap_of(front), slab);
}

/**
 * kf_mode_zero() - let a fresh block read as zeroes
 * @p:		the block
 * @usable:	its bytes
 * @zeroed:	whether all but its first word is zero already
 *
 * Context: any.
 */
static __always_inline_kf void kf_mode_zero(void *p, size_t usable, bool zeroed)
{
	if (zeroed) {
		*(void **)p = NULL;
		return;
	}
	/* Knowing the range, compilers write a slow loop in its place. */
	__asm__("" : "+r"(usable));
	__builtin_memset(p, 0, usable);
}

/**
 * kf_slow_alloc() - malloc() by the slow path
 * kf_slow_zeroed() - calloc() likewise
 * kf_slow_resize() - realloc() of a block to a size that is not 0
 * kf_slow_aligned() - an aligned block
 * kf_slow_free() - free()
 * @front:	that the call came to
 * @size:	as there
 * @align:	a power of two
 * @p:		as there
 * @slab:	what the address map has for @p
 *
 * A call that belongs to another front by now is passed on to it.
 *
 * Context: as there.
 * Return: as there.
 */
void *kf_slow_alloc(size_t size, struct kf_front *front) __kf_hidden;
void *kf_slow_zeroed(size_t size, struct kf_front *front) __kf_hidden;
void *kf_slow_resize(void *p, size_t size, struct kf_front *front) __kf_hidden;
void *kf_slow_aligned(size_t align, size_t size,
		      struct kf_front *front) __kf_hidden;
void kf_slow_free(void *p, struct kf_slab *slab,
		  struct kf_front *front) __kf_hidden;

/**
 * kf_call_malloc() - malloc() by the core
 * kf_call_calloc() - calloc() likewise
 * kf_call_aligned() - an aligned block
 * kf_call_realloc() - realloc()
 * @p:		as there
 * @align:	a power of two
 * @size:	as there
 * @mark:	the mark of the thread's tag, which is billed; 0 for none
 *
 * Fire the probes of the call.
 *
 * Context: as there, once the thread's front is current.
 * Return: as there.
 */
void *kf_call_malloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_call_calloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_call_aligned(size_t align, size_t size, uint32_t mark) __kf_hidden;
void *kf_call_realloc(void *p, size_t size, uint32_t mark) __kf_hidden;

#endif
