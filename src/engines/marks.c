/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks of blocks that have no room for them: see marks.h.
 */
#include "engines/marks.h"

#include "pages/pages.h"

#include <string.h>

#define STEP_SHIFT 4  /* a mark for 16 bytes */
#define LEAF_SHIFT 12 /* a leaf is for a page of addresses */
#define NODE_SHIFT 8  /* a node leads to 256 others */
#define ROOT_SHIFT 36

_Static_assert((ROOT_SHIFT - LEAF_SHIFT) % NODE_SHIFT == 0, "whole nodes");

struct node {
	void *to[1 << NODE_SHIFT]; /* atomic: nodes, or leaves */
};

/* Of marks, or of bytes. */
#define LEAF_ENTRIES ((size_t)1 << (LEAF_SHIFT - STEP_SHIFT))

_Static_assert(sizeof(struct node) <= KF_METADATA_MAX, "fits a metadata block");
_Static_assert(LEAF_ENTRIES * sizeof(uint32_t) <= KF_METADATA_MAX,
	       "fits a metadata block");

/* A tree; its root has nodes, atomic. */
struct marks {
	size_t leaf_bytes;
	void *root[1 << (KF_ADDRESS_BITS - ROOT_SHIFT)];
};

static struct marks marks = {.leaf_bytes = LEAF_ENTRIES * sizeof(uint32_t)};
static struct marks known = {.leaf_bytes = LEAF_ENTRIES};

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

/* The leaf for an address; NULL: it has none, or there is no memory for it. */
static void *marks_leaf(struct marks *tree, const void *p, bool wanted)
{
	uintptr_t address = (uintptr_t)p;
	void **at;

	if (address >> KF_ADDRESS_BITS || address % KF_MARKS_LEAST)
		return NULL;
	at = &tree->root[address >> ROOT_SHIFT];
	for (unsigned int shift = ROOT_SHIFT; shift > LEAF_SHIFT;) {
		struct node *node = follow(at, wanted ? sizeof(*node) : 0);

		if (!node)
			return NULL;
		shift -= NODE_SHIFT;
		at = &node->to[(address >> shift) % (1 << NODE_SHIFT)];
	}
	return follow(at, wanted ? tree->leaf_bytes : 0);
}

static size_t place_in_leaf(const void *p)
{
	return ((uintptr_t)p >> STEP_SHIFT) % LEAF_ENTRIES;
}

bool kf_marks_put(const void *p, uint32_t mark)
{
	uint32_t *leaf = marks_leaf(&marks, p, true);

	if (leaf)
		kf_store(&leaf[place_in_leaf(p)], mark);
	return leaf;
}

uint32_t kf_marks_take(const void *p)
{
	uint32_t *leaf = marks_leaf(&marks, p, false);
	uint32_t *at = leaf ? &leaf[place_in_leaf(p)] : NULL;
	uint32_t mark = at ? kf_load(at) : 0;

	if (mark)
		kf_store(at, 0);
	return mark;
}

bool kf_known_put(const void *p)
{
	uint8_t *leaf = marks_leaf(&known, p, true);

	if (leaf)
		kf_store(&leaf[place_in_leaf(p)], 1);
	return leaf;
}

bool kf_known_take(const void *p)
{
	uint8_t *leaf = marks_leaf(&known, p, false);
	uint8_t *at = leaf ? &leaf[place_in_leaf(p)] : NULL;
	bool is_known = at && kf_load(at);

	if (is_known)
		kf_store(at, 0);
	return is_known;
}

static void clear_below(void *table, unsigned int shift, size_t leaf_bytes)
{
	const struct node *node = table;

	if (shift == LEAF_SHIFT) {
		memset(table, 0, leaf_bytes);
		return;
	}
	for (size_t i = 0; i < KF_ARRAY_SIZE(node->to); i++) {
		if (node->to[i])
			clear_below(node->to[i], shift - NODE_SHIFT,
				    leaf_bytes);
	}
}

static void clear_tree(const struct marks *tree)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(tree->root); i++) {
		if (tree->root[i])
			clear_below(tree->root[i], ROOT_SHIFT,
				    tree->leaf_bytes);
	}
}

void kf_marks_clear(void)
{
	clear_tree(&marks);
	clear_tree(&known);
}
