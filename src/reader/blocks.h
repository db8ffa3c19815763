/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The live blocks at a time of a recording, by their address.
 *
 * Millions may be live at once: an entry has 28 bytes, about 42 with the free
 * room in the table, and freed blocks take no memory.
 */
#ifndef KF_READER_BLOCKS_H
#define KF_READER_BLOCKS_H

#include "reader/map.h"

#define KF_BLOCK_MAX_THREAD ((1u << 20) - 1)
#define KF_BLOCK_MAX_FUNCTION ((1u << 5) - 1)
#define KF_BLOCK_MAX_ALIGN_LOG2 ((1u << 6) - 1)

/* A live block, and the call that made it. */
struct kf_block {
	uint64_t address; /* not 0 */
	uint64_t size;	  /* bytes asked for */
	uint64_t time;	  /* when it was made, ns */
	uint32_t thread;
	uint8_t function;
	uint8_t align_log2;
	bool flag; /* the caller's */
};

struct kf_blocks {
	struct kf_map map;
};

/**
 * kf_blocks_init() - begin without a block
 * @b:		the blocks
 */
void kf_blocks_init(struct kf_blocks *b);

/**
 * kf_blocks_put() - add a block
 * @b:		the blocks
 * @block:	the block; its small fields are cut to their limits above
 * @old:	out: the block that had this address before, if 1 is returned
 *
 * Return: 0 if the address is new, 1 if a block was replaced, -1 when out of
 *	   memory.
 */
int kf_blocks_put(struct kf_blocks *b, const struct kf_block *block,
		  struct kf_block *old);

/**
 * kf_blocks_take() - remove a block
 * @b:		the blocks
 * @address:	its address, not 0
 * @block:	out: the block
 *
 * Return: whether there was one.
 */
bool kf_blocks_take(struct kf_blocks *b, uint64_t address,
		    struct kf_block *block);

/**
 * kf_blocks_each() - call a function for every block, in no order
 * @b:		the blocks; they must not change meanwhile
 * @see:	called with each
 * @arg:	for @see
 */
void kf_blocks_each(const struct kf_blocks *b,
		    void (*see)(const struct kf_block *block, void *arg),
		    void *arg);

/**
 * kf_blocks_release() - free what the blocks hold
 * @b:		the blocks; harmless twice
 */
void kf_blocks_release(struct kf_blocks *b);

#endif
