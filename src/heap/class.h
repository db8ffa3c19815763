/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Size classes: steps of 16 bytes up to 128, then eight to a doubling (at most
 * 12.5 % apart) up to 32 KiB.
 *
 * Up to 1 KiB the number of a class is its bytes divided by 16. So one number
 * is the offset of the bin, the offset of the counters and the bytes of a
 * block. Numbers that are not a class, such as 17 (272 bytes), only count
 * blocks of other engines. Number 0 is no class; its counters count all large
 * blocks.
 *
 * Aligned blocks need no classes of their own. Up to 1 KiB, and above that for
 * alignments up to KF_SLAB_OFFSET_STEP, a size rounded up to the alignment
 * falls into a class of multiples of the alignment. Otherwise the next power of
 * two serves.
 */
#ifndef KF_HEAP_CLASS_H
#define KF_HEAP_CLASS_H

#include "base/bits.h"
#include "base/compiler.h"
#include "pages/run.h"
#include "stats/layout.h"

#define KF_NR_CLASSES KF_STATS_NR_CLASSES
#define KF_TINY_MAX ((size_t)KF_STATS_TINY_MAX)
#define KF_SMALL_MAX ((size_t)32768)
#define KF_NR_TINY 64

_Static_assert(KF_NR_CLASSES == 1 + KF_NR_TINY + 5 * 8, "the classes");

/* For each size up to KF_TINY_MAX, the bytes of its class. */
extern const uint16_t kf_class_tiny[KF_TINY_MAX + 1] __kf_hidden;

/* For a size up to KF_TINY_MAX, the offset of its bin: its class's bytes. */
static __always_inline_kf size_t kf_class_offset(size_t size)
{
	return kf_class_tiny[size];
}

/* The class and its bytes of a size above KF_TINY_MAX, up to KF_SMALL_MAX. */
static __always_inline_kf unsigned int kf_class_of_medium(size_t size,
							  size_t *bytes)
{
	unsigned int shift = kf_ilog2(size - 1) - 3;
	size_t steps = (size - 1) >> shift; /* 8 to 15 */

	*bytes = (steps + 1) << shift;
	return KF_NR_TINY + 1 + (shift - 7) * 8 + (unsigned int)steps - 8;
}

/* The class of a size up to KF_SMALL_MAX; 0 for size 0. */
static inline unsigned int kf_class_of(size_t size)
{
	size_t bytes;

	return size <= KF_TINY_MAX ? (unsigned int)(kf_class_offset(size) >> 4)
				   : kf_class_of_medium(size, &bytes);
}

/* Usable bytes of a block of a class. */
static inline size_t kf_class_bytes(unsigned int class)
{
	unsigned int above = class - KF_NR_TINY - 1;

	if (class <= KF_NR_TINY)
		return (size_t) class << 4;
	return (size_t)(9 + above % 8) << (7 + above / 8);
}

/*
 * The number and the bytes of the counters of another engine's block of 0 to
 * KF_SMALL_MAX bytes. Up to 1 KiB each multiple of 16 has a number.
 */
static __always_inline_kf unsigned int kf_class_around(size_t size,
						       size_t *bytes)
{
	if (size <= KF_TINY_MAX) {
		*bytes = KF_ALIGN_UP(size + !size, (size_t)16);
		return (unsigned int)(*bytes >> 4);
	}
	return kf_class_of_medium(size, bytes);
}

/* Bytes; the slab offset of a medium class is a multiple of this. */
#define KF_SLAB_OFFSET_STEP ((size_t)64)

/*
 * The size to request so that the block has @size bytes and is aligned to
 * @align, a power of two up to KF_PAGE. A result above KF_SMALL_MAX: no class
 * serves; a result less than @size: the rounding overflowed.
 */
static inline size_t kf_class_request(size_t size, size_t align)
{
	size_t rounded = KF_ALIGN_UP(size, align);

	if (align <= KF_SLAB_OFFSET_STEP || rounded <= KF_TINY_MAX ||
	    rounded > KF_SMALL_MAX)
		return rounded;
	return kf_pow2_up(rounded);
}

#define KF_SLAB_PAGES 16 /* usually */

/*
 * The pages of a new slab in a heap that has @nr slabs of the class; each block
 * takes @more bytes beyond its size (a mark). Usually KF_SLAB_PAGES, but:
 *
 * Large classes get more pages, so that a slab has eight blocks.
 *
 * The first slabs of a class get fewer pages: 1, 2 and 4. The heap may never
 * need more blocks of the class, and small slabs become empty sooner. A heap
 * with many blocks of a class has few slabs of it, so that a bin gets many
 * blocks at a time. Medium classes have the block cache instead: eight slabs
 * get fewer pages, two of each number. A slab has at least two blocks and one
 * page.
 */
static inline size_t kf_class_slab_pages(unsigned int class, size_t nr,
					 size_t more)
{
	size_t bytes = kf_class_bytes(class);
	size_t least = 2 * (bytes + more);
	size_t pages = KF_SLAB_PAGES;

	if (bytes > KF_SLAB_PAGES * KF_PAGE / 8)
		pages *= bytes <= KF_SLAB_PAGES * KF_PAGE / 4 ? 2 : 4;
	if (bytes > KF_TINY_MAX)
		pages >>= nr < 8 ? 4 - nr / 2 : 0;
	else if (nr < 3)
		pages >>= 4 - nr;
	return KF_MAX(pages, (least + KF_PAGE - 1) >> KF_PAGE_SHIFT);
}

#endif
