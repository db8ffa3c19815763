/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ranges of addresses that code was written to, one after the other: the last
 * writer of an address owns it.
 *
 * Promises: n ranges take O(n log n) time however they overlap, and at most
 * about 64 bytes each. Of more than KF_JIT_RANGES ranges the last are kept, as
 * these are right, whatever was there before.
 */
#ifndef KF_READER_JIT_RANGES_H
#define KF_READER_JIT_RANGES_H

#include "base/compiler.h"

#define KF_JIT_RANGES ((size_t)1 << 20)

/* Code, and where the file that names it does so. */
struct kf_jit_range {
	uint64_t begin;
	uint64_t end;
	uint64_t at; /* offset of the name's line or record */
	uint64_t
		debug; /* offset of the record with its source lines; 0: none */
};

/* Initially zero. */
struct kf_jit_ranges {
	uint64_t nr; /* ranges that were added, including those dropped */
	size_t room;
	struct kf_jit_range *range; /* a ring */
	/* The rest is for kf_jit_ranges_find(). */
	size_t nr_cuts;
	uint64_t *cut;	 /* each begin and end once, sorted */
	uint32_t *owner; /* of the addresses from each cut to the next */
};

/**
 * kf_jit_ranges_add() - add a range
 * @r:		the ranges
 * @range:	the range, later than all others; ignored if it is empty, begins
 *		at 0 or ends before it begins
 *
 * Return: false when out of memory.
 */
bool kf_jit_ranges_add(struct kf_jit_ranges *r,
		       const struct kf_jit_range *range);

/**
 * kf_jit_ranges_settle() - find out which range owns which addresses
 * @r:		the ranges; no range is added any more
 *
 * Return: false when out of memory.
 */
bool kf_jit_ranges_settle(struct kf_jit_ranges *r);

/**
 * kf_jit_ranges_find() - the owner of an address
 * @r:		the ranges, settled
 * @address:	the address
 *
 * Return: its range, or NULL.
 */
const struct kf_jit_range *kf_jit_ranges_find(const struct kf_jit_ranges *r,
					      uint64_t address);

/**
 * kf_jit_ranges_release() - free what the ranges hold
 * @r:		the ranges; zero afterwards
 */
void kf_jit_ranges_release(struct kf_jit_ranges *r);

#endif
