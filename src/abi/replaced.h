/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whose malloc is in effect: a library preloaded before this one, or the
 * program itself, may define it, and only some names of the family. The others
 * are ours then, and end in that malloc, as the C library's own would: a block
 * goes to whoever made it.
 */
#ifndef KF_ABI_REPLACED_H
#define KF_ABI_REPLACED_H

#include "base/compiler.h"

/* Whether malloc and free are others'. Constant after the first constructor. */
extern bool kf_malloc_replaced __kf_hidden;

/**
 * kf_replaced_free() - free(), whoever's is in effect
 * kf_replaced_aligned() - an aligned block, whoever's is in effect
 * @p:		a block or NULL
 * @align:	power of two
 * @size:	bytes
 *
 * Context: as malloc(), where kf_malloc_replaced.
 * Return: as memalign(); ours where who has malloc makes no aligned blocks.
 */
void kf_replaced_free(void *p) __kf_hidden;
void *kf_replaced_aligned(size_t align, size_t size) __kf_hidden;

/**
 * kf_aligned_own() - an aligned block of this library
 * @align:	power of two
 * @size:	bytes
 *
 * Context: as malloc().
 * Return: as memalign().
 */
void *kf_aligned_own(size_t align, size_t size) __kf_hidden;

#endif
