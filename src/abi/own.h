/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hidden names of the exported functions, which no other object can replace.
 */
#ifndef KF_ABI_OWN_H
#define KF_ABI_OWN_H

#include "base/compiler.h"

/**
 * kf_malloc() - malloc()
 * kf_realloc() - realloc()
 * kf_aligned() - a block aligned to a power of two, as memalign()
 * kf_free() - free()
 * @p:		as there
 * @align:	as there
 * @size:	as there
 *
 * Context: as there.
 * Return: as there.
 */
void *kf_malloc(size_t size) __kf_hidden;
void *kf_realloc(void *p, size_t size) __kf_hidden;
void *kf_aligned(size_t align, size_t size) __kf_hidden;
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

#endif
