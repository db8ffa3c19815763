/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What live blocks pin: the free blocks of a slab cannot go back to the kernel
 * while another block of the slab is used. Each used block has an equal share
 * of them. Blocks that were never carved have no pages and are not pinned.
 *
 * A sampled block is not where the program's other blocks are, but in a slab of
 * samples. So its place is noted: the block that the program would have got.
 * What the sample stands for pins what one more block in the place's slab would
 * pin; if that slab has gone, all of it would be free but for this block.
 */
#ifndef KF_HEAP_PINNED_H
#define KF_HEAP_PINNED_H

#include "base/compiler.h"
#include "sample/sample.h"

/**
 * kf_pinned_each() - find what blocks of slabs pin
 * @marked:	called for each block with a mark: its mark, which may be
 *		damaged, and its share of what its slab pins, in parts of a
 *		byte (KF_STATS_PINNED_PARTS); 0 for large and guarded blocks
 * @total:	out: bytes that all blocks pin
 *
 * Exact while no other thread allocates or frees. Slabs that were made during a
 * fork are left out.
 *
 * Context: any thread. Takes the pages lock; calls @marked with it.
 * Return: false while another thread forks: nothing was called.
 */
bool kf_pinned_each(void (*marked)(uint32_t mark, uint64_t parts),
		    uint64_t *total) __must_check;

/**
 * kf_pinned_at() - what one more block in a slab would pin
 * @place:	where the block would be
 *
 * Context: the function of kf_pinned_each().
 * Return: parts of a byte (KF_STATS_PINNED_PARTS).
 */
uint64_t kf_pinned_at(const struct kf_place *place);

/**
 * kf_pinned_place() - note where a block is
 * @p:		a block of a slab that is used, or NULL
 *
 * Context: the owner of the slab.
 * Return: the place; of address 0 if @p is not in a slab.
 */
struct kf_place kf_pinned_place(const void *p);

#endif
