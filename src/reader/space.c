/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A range is split into whole units of the highest possible level, and the
 * rests at both ends, which are split on the level below. A bit of a node is
 * "full" if one range covers its whole unit, and "part" if the node of that
 * unit on the level below has bits.
 */
#include "reader/space.h"

#define NODE_BITS 512
#define NODE_WORDS (NODE_BITS / 64)
#define NODE_SHIFT 9
#define GRAIN_SHIFT 3

/* Nodes of the lowest level have no "part" bits. */
struct node {
	uint64_t key; /* its number plus 1 */
	uint64_t full[NODE_WORDS];
	uint64_t part[NODE_WORDS];
};

enum op { CHECK, COVER, UNCOVER };

/* Grains of 8 bytes, without @end, all in one node of the level. */
struct range {
	uint64_t begin;
	uint64_t end;
};

void kf_space_init(struct kf_space *s)
{
	for (int i = 0; i < KF_SPACE_FLOORS; i++)
		s->floors[i] =
			(struct kf_map){.entry_size = sizeof(struct node)};
	s->floors[0].entry_size = offsetof(struct node, part);
}

void kf_space_release(struct kf_space *s)
{
	for (int i = 0; i < KF_SPACE_FLOORS; i++)
		kf_map_release(&s->floors[i]);
}

static uint64_t mask_of(unsigned int word, unsigned int first, unsigned int end)
{
	unsigned int base = word * 64;
	unsigned int lo = first > base ? first - base : 0;
	unsigned int hi = end > base ? KF_MIN(end - base, 64u) : 0;

	if (lo >= hi)
		return 0;
	return (~0ULL >> (64 - (hi - lo))) << lo;
}

static bool any_set(int floor, const struct node *n, unsigned int first,
		    unsigned int end)
{
	for (unsigned int w = first / 64; w < NODE_WORDS && w * 64 < end; w++) {
		uint64_t bits = n->full[w];

		if (floor)
			bits |= n->part[w];
		if (bits & mask_of(w, first, end))
			return true;
	}
	return false;
}

static void set_full(struct node *n, unsigned int first, unsigned int end,
		     bool on)
{
	for (unsigned int w = first / 64; w < NODE_WORDS && w * 64 < end; w++) {
		if (on)
			n->full[w] |= mask_of(w, first, end);
		else
			n->full[w] &= ~mask_of(w, first, end);
	}
}

static bool node_is_empty(int floor, const struct node *n)
{
	uint64_t any = 0;

	for (int w = 0; w < NODE_WORDS; w++)
		any |= n->full[w] | (floor ? n->part[w] : 0);
	return !any;
}

static int node_walk(struct kf_space *s, enum op op, int floor, struct range r);

/* A range smaller than a unit, covered by the node below. */
static int part_walk(struct kf_space *s, enum op op, int floor, struct node *n,
		     struct range r)
{
	unsigned int bit = (r.begin >> (NODE_SHIFT * floor)) % NODE_BITS;
	uint64_t mask = 1ULL << bit % 64;
	uint64_t *part = &n->part[bit / 64];
	int rc;

	if (op == CHECK && n->full[bit / 64] & mask)
		return 1;
	if (op == CHECK && !(*part & mask))
		return 0;
	rc = node_walk(s, op, floor - 1, r);
	if (op == COVER)
		*part |= mask;
	if (op == UNCOVER &&
	    !kf_map_find(&s->floors[floor - 1],
			 (r.begin >> (NODE_SHIFT * floor)) + 1))
		*part &= ~mask;
	return rc;
}

static int full_walk(enum op op, int floor, struct node *n, uint64_t first,
		     uint64_t end)
{
	unsigned int lo = first % NODE_BITS;
	unsigned int hi = lo + (unsigned int)(end - first);

	if (op == CHECK)
		return any_set(floor, n, lo, hi);
	set_full(n, lo, hi, op == COVER);
	return 0;
}

static int node_split(struct kf_space *s, enum op op, int floor, struct node *n,
		      struct range r)
{
	unsigned int shift = NODE_SHIFT * (unsigned int)floor;
	uint64_t unit = 1ULL << shift;
	uint64_t first = (r.begin + unit - 1) >> shift; /* whole unit */
	uint64_t end = r.end >> shift;
	int rc = 0;

	if (first > end) /* within one unit */
		return part_walk(s, op, floor, n, r);
	if (r.begin < first << shift)
		rc = part_walk(s, op, floor, n,
			       (struct range){r.begin, first << shift});
	if (!rc && first < end)
		rc = full_walk(op, floor, n, first, end);
	if (!rc && end << shift < r.end)
		rc = part_walk(s, op, floor, n,
			       (struct range){end << shift, r.end});
	return rc;
}

static int node_walk(struct kf_space *s, enum op op, int floor, struct range r)
{
	uint64_t key = (r.begin >> (NODE_SHIFT * (floor + 1))) + 1;
	struct kf_map *map = &s->floors[floor];
	struct node *n;
	int rc;

	n = op == COVER ? kf_map_add(map, key) : kf_map_find(map, key);
	if (!n)
		return op == COVER ? -1 : 0;
	rc = node_split(s, op, floor, n, r);
	if (op == UNCOVER && node_is_empty(floor, n))
		kf_map_remove(map, key);
	return rc;
}

/* Goes through the nodes of the highest level. */
static int space_walk(struct kf_space *s, enum op op, uint64_t address,
		      uint64_t size)
{
	const int top = KF_SPACE_FLOORS - 1;
	const unsigned int shift = NODE_SHIFT * KF_SPACE_FLOORS;
	uint64_t begin = address >> GRAIN_SHIFT;
	uint64_t last = address + (size ? size - 1 : 0);
	uint64_t end;
	int rc = 0;

	if (last < address)
		last = UINT64_MAX;
	end = (last >> GRAIN_SHIFT) + 1;
	while (!rc && begin < end) {
		uint64_t border = ((begin >> shift) + 1) << shift;
		struct range r = {begin, KF_MIN(border, end)};

		rc = node_walk(s, op, top, r);
		begin = border;
	}
	return rc;
}

/*
 * Fast path: most blocks are within one node of the lowest level that exists
 * already, so that the levels above need no change. Returns NULL otherwise.
 */
static struct node *near_node(const struct kf_space *s, uint64_t address,
			      uint64_t size, unsigned int *first,
			      unsigned int *end)
{
	uint64_t begin = address >> GRAIN_SHIFT;
	uint64_t last = (address + (size ? size - 1 : 0)) >> GRAIN_SHIFT;

	if (size > NODE_BITS << GRAIN_SHIFT ||
	    begin >> NODE_SHIFT != last >> NODE_SHIFT)
		return NULL;
	*first = begin % NODE_BITS;
	*end = (unsigned int)(last % NODE_BITS) + 1;
	return kf_map_find(&s->floors[0], (begin >> NODE_SHIFT) + 1);
}

int kf_space_cover(struct kf_space *s, uint64_t address, uint64_t size)
{
	unsigned int first, end;
	struct node *n = near_node(s, address, size, &first, &end);
	int rc;

	if (n) {
		if (any_set(0, n, first, end))
			return 1;
		set_full(n, first, end, true);
		return 0;
	}
	rc = space_walk(s, CHECK, address, size);

	return rc ? rc : space_walk(s, COVER, address, size);
}

void kf_space_uncover(struct kf_space *s, uint64_t address, uint64_t size)
{
	unsigned int first, end;
	struct node *n = near_node(s, address, size, &first, &end);

	if (n) {
		set_full(n, first, end, false);
		if (!node_is_empty(0, n))
			return;
	}
	space_walk(s, UNCOVER, address, size);
}
