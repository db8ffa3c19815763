/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of threads that are on a detour: each is made again, with the thread's
 * own heap in place, and written down. See engine/detour.h.
 */
#ifndef KF_ABI_DETOUR_H
#define KF_ABI_DETOUR_H

#include "engine/detour.h"

/**
 * kf_detour_malloc_any() - malloc() while kf_detour_is_due()
 * kf_detour_calloc() - calloc() likewise
 * kf_detour_realloc() - realloc()
 * kf_detour_aligned() - kf_aligned()
 * kf_detour_free_any() - free()
 * kf_detour_malloc() - malloc() of up to KF_TINY_MAX bytes, where the thread
 *	points at kf_heap_detour
 * kf_detour_free() - free() there, of what is not NULL
 * @p:		as there
 * @slab:	what the address map has for the pointer
 * @align:	as there
 * @size:	as there
 *
 * Context: as there.
 * Return: as there.
 */
void *kf_detour_malloc_any(size_t size) __kf_hidden;
void *kf_detour_malloc(size_t size) __kf_hidden;
void *kf_detour_calloc(size_t size) __kf_hidden;
void *kf_detour_realloc(void *p, size_t size) __kf_hidden;
void *kf_detour_aligned(size_t align, size_t size) __kf_hidden;
void kf_detour_free_any(void *p) __kf_hidden;
void kf_detour_free(void *p, struct kf_slab *slab) __kf_hidden;

/**
 * kf_malloc_other() - malloc() where no heap's own lists do
 * kf_free_other() - free() likewise
 * @size:	bytes, any
 * @p:		a block or NULL
 *
 * A signal handler that interrupts the begin of a call that is seen comes here
 * too, and goes by unseen.
 *
 * Context: as malloc().
 * Return: likewise.
 */
void *kf_malloc_other(size_t size) __kf_hidden;
void kf_free_other(void *p) __kf_hidden;

/**
 * kf_malloc() - malloc(), by a name that nobody can take the place of
 * kf_calloc() - calloc() likewise
 * kf_realloc() - realloc()
 * kf_aligned() - a block aligned to a power of two, as memalign()
 * @nr:		as there
 * @p:		as there
 * @align:	as there
 * @size:	as there
 *
 * Context: as there.
 * Return: as there.
 */
void *kf_malloc(size_t size) __kf_hidden;
void *kf_calloc(size_t nr, size_t size) __kf_hidden;
void *kf_realloc(void *p, size_t size) __kf_hidden;
void *kf_aligned(size_t align, size_t size) __kf_hidden;

#endif
