/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc's fast path, for malloc and operator new.
 */
#ifndef KF_ABI_TINY_H
#define KF_ABI_TINY_H

#include "core/core.h"
#include "engine/fast.h"

#include "probes/konfiscator-percall.h"

/**
 * kf_malloc_more() - malloc() where the fast path does not do
 * @size:	bytes, any
 *
 * Fires alloc.
 *
 * Context: as malloc().
 * Return: as malloc().
 */
void *kf_malloc_more(size_t size) __kf_hidden;

/**
 * kf_malloc_missed() - malloc() where the bin is empty
 * @size:	bytes, at most KF_TINY_MAX
 * @offset:	of its bin
 * @front:	kf_heap_self
 *
 * Fires alloc.
 *
 * Context: as malloc().
 * Return: as malloc().
 */
void *kf_malloc_missed(size_t size, size_t offset,
		       struct kf_heap *front) __kf_hidden;

/**
 * kf_free() - free(), by a name that nobody can take the place of
 * @p:		a block or NULL
 *
 * Context: as free().
 */
void kf_free(void *p) __kf_hidden;

/**
 * kf_free_sized() - free(), of a block whose size is known
 * kf_free_aligned() - the same of one that was asked for with an alignment
 * @p:		a block or NULL
 * @align:	the alignment, a power of two
 * @size:	bytes that were asked; others may be told as misuse
 *
 * Context: as free().
 */
void kf_free_sized(void *p, size_t size) __kf_hidden;
void kf_free_aligned(void *p, size_t align, size_t size) __kf_hidden;

/* The fast path, of up to KF_TINY_MAX bytes; NULL where it does not do. */
static __always_inline_kf void *kf_malloc_quick(size_t size)
{
	size_t offset = KF_ALIGN_UP(size, (size_t)16);
	void *p = kf_fast_alloc(kf_heap_self, offset);

	if (unlikely(!p))
		return NULL;
	kf_keep_in_result(p);
	if (!p)
		__builtin_unreachable();
	/* In the tiny classes the offset is the usable size. */
	kf_probe_alloc((uintptr_t)p, size, offset);
	return p;
}

/* malloc() where kf_malloc_quick() does not do. */
static inline void *kf_malloc_slowly(size_t size)
{
	if (size > KF_TINY_MAX)
		return kf_malloc_more(size);
	return kf_malloc_missed(size, KF_ALIGN_UP(size, (size_t)16),
				kf_heap_self);
}

/**
 * kf_malloc_tiny() - malloc(), inlined
 * @size:	bytes, any
 *
 * Fires alloc.
 *
 * Context: as malloc().
 * Return: as malloc().
 */
static __always_inline_kf void *kf_malloc_tiny(size_t size)
{
	void *p;

	if (unlikely(size > KF_TINY_MAX))
		return kf_malloc_more(size);
	p = kf_malloc_quick(size);
	return likely(p) ? p : kf_malloc_slowly(size);
}

#endif
