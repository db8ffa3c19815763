/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Size classes: steps of 16 bytes to 128, then eight to a doubling (at most
 * 12.5 % apart) to 32 KiB.
 *
 * To 1 KiB a class is numbered by its bytes in units of 16, so that one number
 * is the offset of its bin, the offset of its counters, and the bytes of its
 * blocks; the numbers between, such as 17 (272 bytes), count blocks of other
 * engines alone. Class 0 is no class: in the counters it stands for all large
 * blocks.
 *
 * Aligned blocks need no classes of their own: to 1 KiB, and to an alignment of
 * KF_SLAB_OFFSET_STEP above that, a size rounded up to an alignment falls into
 * a class of multiples of that alignment; else a power of two serves.
 */
#ifndef KF_HEAP_CLASS_H
#define KF_HEAP_CLASS_H

#include "base/bits.h"
#include "base/compiler.h"
#include "pages/run.h"
#include "stats/layout.h"

#define KF_NR_CLASSES KF_STATS_NR_CLASSES
#define KF_TINY_MAX ((size_t)1024)
#define KF_SMALL_MAX ((size_t)32768)
#define KF_NR_TINY 64

_Static_assert(KF_NR_CLASSES == 1 + KF_NR_TINY + 5 * 8, "the classes");

/* Bytes of the class of each size up to KF_TINY_MAX. */
extern const uint16_t kf_class_tiny[KF_TINY_MAX + 1] __kf_hidden;

/* The offset of the bin of a size up to KF_TINY_MAX, and its class' bytes. */
static __always_inline_kf size_t kf_class_offset(size_t size)
{
	return kf_class_tiny[size];
}

/* The class of a size above KF_TINY_MAX, to KF_SMALL_MAX. */
static inline unsigned int kf_class_of_medium(size_t size)
{
	unsigned int shift = kf_ilog2(size - 1);

	return KF_NR_TINY + 1 + (shift - 10) * 8 +
	       (((size - 1) >> (shift - 3)) & 7);
}

/* The class of a size from 0 (which gives the empty class) to KF_SMALL_MAX. */
static inline unsigned int kf_class_of(size_t size)
{
	return size <= KF_TINY_MAX ? (unsigned int)(kf_class_offset(size) >> 4)
				   : kf_class_of_medium(size);
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
 * The number and the bytes of the class that counts another engine's block of
 * 0 to KF_SMALL_MAX bytes: to 1 KiB each multiple of 16 has a number.
 */
static __always_inline_kf unsigned int kf_class_around(size_t size,
						       size_t *bytes)
{
	unsigned int shift;
	size_t steps;

	if (size <= KF_TINY_MAX) {
		*bytes = KF_ALIGN_UP(size + !size, (size_t)16);
		return (unsigned int)(*bytes >> 4);
	}
	shift = kf_ilog2(size - 1) - 3;
	steps = (size - 1) >> shift; /* 8 to 15 */
	*bytes = (steps + 1) << shift;
	return KF_NR_TINY + 1 + (shift - 7) * 8 + (unsigned int)steps - 8;
}

/* Bytes; slabs of classes above KF_TINY_MAX may begin at any multiple. */
#define KF_SLAB_OFFSET_STEP ((size_t)64)

/*
 * What to ask the classes for, so that @size bytes lie at a multiple of @align,
 * a power of two up to KF_PAGE: above KF_SMALL_MAX where none serves, and less
 * than @size where that is near SIZE_MAX.
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
 * Pages of a slab of a heap that has @nr others of its class, where a block has
 * @more bytes than the class. Large classes get more, so that they have eight
 * blocks; the first eight of a class less, two of each number of pages, as the
 * heap may never need more, and what becomes empty serves other classes: two
 * blocks or a page at least. Of blocks from half a KiB to one a page has so few
 * that nearly each malloc would go the slow way: they have large slabs sooner.
 * Larger ones wait in a list of the heap and do not mind.
 */
static inline size_t kf_class_slab_pages(unsigned int class, size_t nr,
					 size_t more)
{
	size_t bytes = kf_class_bytes(class);
	size_t least = 2 * (bytes + more);
	size_t pages = KF_SLAB_PAGES;

	if (bytes > KF_SLAB_PAGES * KF_PAGE / 8)
		pages *= bytes <= KF_SLAB_PAGES * KF_PAGE / 4 ? 2 : 4;
	if (bytes <= KF_TINY_MAX / 2 || bytes > KF_TINY_MAX)
		pages >>= nr < 8 ? 4 - nr / 2 : 0;
	else if (nr < 4)
		pages >>= nr < 2 ? 4 - nr : 1;
	return KF_MAX(pages, (least + KF_PAGE - 1) >> KF_PAGE_SHIFT);
}

#endif
