/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks of blocks that have no room for them: see marks.h.
 */
#include "engines/marks.h"

#include "pages/pages.h"

#define STEP_SHIFT 4  /* a mark for 16 bytes */
#define LEAF_SHIFT 14 /* a page of marks */
#define NODE_SHIFT 8  /* a node leads to 256 others */
#define ROOT_SHIFT 38

_Static_assert((ROOT_SHIFT - LEAF_SHIFT) % NODE_SHIFT == 0, "whole nodes");

struct node {
	void *to[1 << NODE_SHIFT]; /* atomic: nodes, or leaves */
};

struct leaf {
	uint32_t mark[1 << (LEAF_SHIFT - STEP_SHIFT)]; /* atomic */
};

_Static_assert(sizeof(struct node) <= KF_METADATA_MAX, "fits a metadata block");
_Static_assert(sizeof(struct leaf) <= KF_METADATA_MAX, "fits a metadata block");

static void *root[1 << (KF_ADDRESS_BITS - ROOT_SHIFT)]; /* atomic: nodes */

/* If another thread is faster, the new table leaks: it cannot be freed. */
static void *marks_make(void **at, size_t size)
{
	void *made = kf_metadata_alloc(size), *other = NULL;

	if (!made)
		return NULL;
	/* pairs with the acquire load of follow() */
	return __atomic_compare_exchange_n(at, &other, made, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		       ? made
		       : other;
}

/* @size: bytes of a missing table, which is made; 0 to make none */
static inline void *follow(void **at, size_t size)
{
	void *to = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	return likely(to) || !size ? to : marks_make(at, size);
}

static uint32_t *mark_of(const void *p, bool wanted)
{
	uintptr_t address = (uintptr_t)p;
	struct leaf *leaf;
	void **at;

	if (address >> KF_ADDRESS_BITS || address % KF_MARKS_LEAST)
		return NULL;
	at = &root[address >> ROOT_SHIFT];
	for (unsigned int shift = ROOT_SHIFT; shift > LEAF_SHIFT;) {
		struct node *node = follow(at, wanted ? sizeof(*node) : 0);

		if (!node)
			return NULL;
		shift -= NODE_SHIFT;
		at = &node->to[(address >> shift) % (1 << NODE_SHIFT)];
	}
	leaf = follow(at, wanted ? sizeof(*leaf) : 0);
	return leaf ? &leaf->mark[(address >> STEP_SHIFT) %
				  KF_ARRAY_SIZE(leaf->mark)]
		    : NULL;
}

bool kf_marks_put(const void *p, uint32_t mark)
{
	uint32_t *at = mark_of(p, true);

	if (!at)
		return false;
	__atomic_store_n(at, mark, __ATOMIC_RELAXED);
	return true;
}

uint32_t kf_marks_take(const void *p)
{
	uint32_t *at = mark_of(p, false);
	uint32_t mark = at ? __atomic_load_n(at, __ATOMIC_RELAXED) : 0;

	if (mark)
		__atomic_store_n(at, 0, __ATOMIC_RELAXED);
	return mark;
}
