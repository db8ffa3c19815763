/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a thread that has a tag: its blocks get a mark and are billed.
 *
 * The quick ones are for threads that are on a detour for that reason alone,
 * and do not take the thread's own heap back; the others are made with it in
 * place, by the detour's (abi/detour.c).
 */
#ifndef KF_ABI_TAGGED_H
#define KF_ABI_TAGGED_H

#include "core/tagging.h"

/**
 * kf_tagged_quick() - a block, where the marked heap has one ready
 * @size:	bytes, any
 * @zeroed:	whether it must read as zeroes
 *
 * Fires alloc.
 *
 * Context: a thread on a detour, not inside a call.
 * Return: the block, counted; or NULL: nothing was done.
 */
void *kf_tagged_quick(size_t size, bool zeroed) __kf_hidden;

/**
 * kf_tagged_quick_free() - free a block of the thread's own heaps
 * @p:		any pointer
 *
 * Fires release.
 *
 * Context: as kf_tagged_quick().
 * Return: false: nothing was done.
 */
bool kf_tagged_quick_free(void *p) __kf_hidden;

/**
 * kf_tagged_malloc() - malloc() while kf_tagging_is_on()
 * kf_tagged_calloc() - calloc() likewise
 * kf_tagged_aligned() - kf_aligned()
 * kf_tagged_realloc() - realloc()
 * @p:		as there
 * @align:	as there
 * @size:	as there
 *
 * Context: as there; the thread's own heap is in place.
 * Return: as there.
 */
void *kf_tagged_malloc(size_t size) __kf_hidden;
void *kf_tagged_calloc(size_t size) __kf_hidden;
void *kf_tagged_aligned(size_t align, size_t size) __kf_hidden;
void *kf_tagged_realloc(void *p, size_t size) __kf_hidden;

#endif
