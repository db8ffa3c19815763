/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The links between the entries of a tag table.
 *
 * The depth of a child is one more than its parent's, so that every walk up
 * ends at a root, whatever the table holds. Depths are read once, into the
 * nodes, as a thread may reuse its entries meanwhile.
 */
#include "tags/format-internal.h"

#include <string.h>

#define NO_DEPTH UINT32_MAX

unsigned int kf_tags_share(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	if (part >= whole)
		return 10000;
	if (whole > UINT64_MAX / 10000) {
		part >>= 14;
		whole >>= 14;
	}
	return (unsigned int)(part * 10000 / whole);
}

static void read_entry(const struct kf_stats_tag *tag, struct kf_tags_node *n)
{
	memset(n, 0, sizeof(*n));
	n->depth = NO_DEPTH;
	/* pairs with the release store of the entry's state */
	if (kf_load_acquire(&tag->state) == KF_TAG_FREE)
		return;
	n->depth = tag->depth;
	n->parent = tag->parent;
	/* frees are read first, so that each freed byte is also allocated */
	n->freed = kf_load_acquire(&tag->remote_freed) +
		   kf_load_acquire(&tag->freed);
	n->allocated = kf_load(&tag->allocated);
}

static bool has_place(const struct kf_tags_view *v, uint32_t entry)
{
	const struct kf_tags_node *n = &v->node[entry];

	if (n->depth == NO_DEPTH)
		return false;
	if (!n->parent)
		return n->depth == 0;
	return n->parent < v->nr && n->depth &&
	       v->node[n->parent].depth == n->depth - 1;
}

static void link_entries(struct kf_tags_view *v)
{
	/* from the end, so that lists are in the order of the table */
	for (uint32_t i = v->nr; i-- > 1;) {
		struct kf_tags_node *n = &v->node[i];

		if (!has_place(v, i))
			continue;
		n->next = v->node[n->parent].child;
		v->node[n->parent].child = i;
		v->nr_roots += !n->parent;
	}
}

uint32_t kf_tags_skip(const struct kf_tags_view *v, uint32_t root, uint32_t at)
{
	while (at != root) {
		if (v->node[at].next)
			return v->node[at].next;
		at = v->node[at].parent;
	}
	return 0;
}

uint32_t kf_tags_next(const struct kf_tags_view *v, uint32_t root, uint32_t at)
{
	if (v->node[at].child)
		return v->node[at].child;
	return kf_tags_skip(v, root, at);
}

static bool goes_before(const struct kf_tags_view *v, uint32_t a, uint32_t b)
{
	const struct kf_tags_node *x = &v->node[a], *y = &v->node[b];
	uint64_t x_live = kf_tags_live(x->sum_allocated, x->sum_freed);
	uint64_t y_live = kf_tags_live(y->sum_allocated, y->sum_freed);

	return x_live > y_live || (x_live == y_live && a < b);
}

static uint32_t format_view_merge(struct kf_tags_view *v, uint32_t a,
				  uint32_t b)
{
	uint32_t first = 0, *tail = &first;

	while (a && b) {
		uint32_t *least = goes_before(v, a, b) ? &a : &b;

		*tail = *least;
		tail = &v->node[*least].next;
		*least = *tail;
	}
	*tail = a ? a : b;
	return first;
}

/* Bottom-up merge sort: run[i] is a sorted list of 2^i entries, or empty. */
static uint32_t sort(struct kf_tags_view *v, uint32_t list)
{
	uint32_t run[32] = {0}, sorted = 0;

	while (list) {
		uint32_t one = list;
		unsigned int i = 0;

		list = v->node[one].next;
		v->node[one].next = 0;
		for (; run[i]; i++) {
			one = format_view_merge(v, run[i], one);
			run[i] = 0;
		}
		run[i] = one;
	}
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(run); i++)
		sorted = format_view_merge(v, run[i], sorted);
	return sorted;
}

/* An entry's sums are complete when the walk leaves its last child. */
static void format_view_leave(struct kf_tags_view *v, uint32_t entry)
{
	struct kf_tags_node *n = &v->node[entry];
	struct kf_tags_node *up = &v->node[n->parent];

	n->sum_allocated += n->allocated;
	n->sum_freed += n->freed;
	n->child = sort(v, n->child);
	if (entry) {
		up->sum_allocated += n->sum_allocated;
		up->sum_freed += n->sum_freed;
	}
}

static void format_view_add_up(struct kf_tags_view *v)
{
	uint32_t at = 0;

	for (;;) {
		while (v->node[at].child)
			at = v->node[at].child;
		while (at && !v->node[at].next) {
			format_view_leave(v, at);
			at = v->node[at].parent;
		}
		format_view_leave(v, at);
		if (!at)
			return;
		at = v->node[at].next;
	}
}

void kf_tags_prepare(struct kf_tags_view *v)
{
	v->nr_roots = 0;
	v->allocated = v->freed = 0;
	if (!v->nr)
		return;
	memset(&v->node[0], 0, sizeof(v->node[0]));
	for (uint32_t i = 1; i < v->nr; i++)
		read_entry(&v->tag[i], &v->node[i]);
	/* entry 0 is the parent of the roots and has no parent itself */
	v->node[0].depth = NO_DEPTH;
	link_entries(v);
	format_view_add_up(v);
	v->allocated = v->node[0].sum_allocated;
	v->freed = v->node[0].sum_freed;
}
