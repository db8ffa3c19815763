/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Another malloc in effect: the program, or a library preloaded before this
 * one, may define malloc and only some other names of the family. The names
 * that it does not define are ours. They call that malloc, as the C library's
 * would, so that each block is freed by the malloc that made it.
 */
#ifndef KF_ABI_REPLACED_H
#define KF_ABI_REPLACED_H

#include "base/compiler.h"

/* Whether another malloc is in effect. Constant after the first constructor. */
extern bool kf_malloc_replaced __kf_hidden;

/**
 * kf_replaced_free() - the other malloc's free()
 * kf_replaced_aligned() - an aligned block of the other malloc
 * @p:		a block or NULL
 * @align:	power of two
 * @size:	bytes
 *
 * Context: as malloc(), where kf_malloc_replaced.
 * Return: as memalign(); a block of ours if the other malloc has no aligned
 * blocks.
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
