/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The addresses that live blocks cover, to find blocks that overlap.
 *
 * A tree like a page table: nodes of 512 bits, each for 8 bytes, 4 KiB, 2 MiB
 * or 1 GiB by the level, so that a large block needs no more bits than a small
 * one. A page of small blocks costs a node of 72 bytes.
 */
#ifndef KF_READER_SPACE_H
#define KF_READER_SPACE_H

#include "reader/map.h"

#define KF_SPACE_FLOORS 4
#define KF_SPACE_MAX_SIZE ((uint64_t)1 << 47)

struct kf_space {
	struct kf_map floors[KF_SPACE_FLOORS];
};

/**
 * kf_space_init() - make an empty space
 * @s:		the space
 */
void kf_space_init(struct kf_space *s);

/**
 * kf_space_cover() - cover addresses
 * @s:		the space
 * @address:	the first, rounded down to 8
 * @size:	bytes, up to KF_SPACE_MAX_SIZE; rounded up to 8, 0 is 8
 *
 * Return: 0 if all were free; 1 if some were covered, with nothing changed; -1
 *	   when out of memory.
 */
int kf_space_cover(struct kf_space *s, uint64_t address, uint64_t size);

/**
 * kf_space_uncover() - undo a kf_space_cover() that returned 0
 * @s:		the space
 * @address:	as there
 * @size:	as there
 */
void kf_space_uncover(struct kf_space *s, uint64_t address, uint64_t size);

/**
 * kf_space_release() - free what a space holds
 * @s:		the space; harmless twice
 */
void kf_space_release(struct kf_space *s);

#endif
