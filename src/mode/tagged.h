/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls whose block gets a mark and is billed to a tag, by the slow path.
 */
#ifndef KF_MODE_TAGGED_H
#define KF_MODE_TAGGED_H

#include "core/tagging.h"
#include "mode/mode.h"

/**
 * kf_tagged_malloc() - malloc() for a thread with a tag
 * kf_tagged_calloc() - calloc() likewise
 * kf_tagged_aligned() - an aligned block
 * kf_tagged_realloc() - realloc()
 * @p:		as there
 * @align:	as there
 * @size:	as there
 * @mark:	of the tag, not 0
 *
 * Fire the probes of the call.
 *
 * Context: as there.
 * Return: as there.
 */
void *kf_tagged_malloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_calloc(size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_aligned(size_t align, size_t size, uint32_t mark) __kf_hidden;
void *kf_tagged_realloc(void *p, size_t size, uint32_t mark) __kf_hidden;

#endif
