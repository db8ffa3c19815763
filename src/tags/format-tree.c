/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tag table for people: a line for each tag, followed by the tags that were
 * pushed under it, the largest first. Tags with most of the bytes are marked.
 */
#include "tags/format-internal.h"

#define HOT 7000 /* hundredths of a percent of all live bytes */
#define SMALL_SHARE 100
#define SMALL_BYTES 1024
#define MAX_INDENT 64 /* columns */

static bool format_tree_is_small(uint64_t live, unsigned int share)
{
	return live < SMALL_BYTES || share < SMALL_SHARE;
}

/* A figure in a column of @width, or wider where it is exact. */
static void figure(struct kf_tags_out *o, uint64_t bytes, unsigned int how,
		   size_t width)
{
	uint64_t digits = 1;

	if (!(how & KF_TREE_EXACT)) {
		kf_tags_out_bytes(o, bytes, width);
		return;
	}
	for (uint64_t n = bytes; n >= 10; n /= 10)
		digits++;
	kf_tags_out_fill(o, ' ', width + 4 > digits ? width + 4 - digits : 1);
	kf_tags_out_print(o, "%lu", bytes);
}

static void figures(struct kf_tags_out *o, const struct kf_tags_view *v,
		    uint32_t entry, unsigned int share, unsigned int how)
{
	const struct kf_tags_node *n = &v->node[entry];

	figure(o, kf_tags_live(n->sum_allocated, n->sum_freed), how, 8);
	kf_tags_out_fill(o, ' ', share < 1000 ? 4 : share < 10000 ? 3 : 2);
	kf_tags_out_share(o, share);
	figure(o, kf_tags_live(n->allocated, n->freed), how, 10);
	figure(o, v->tag[entry].peak, how, 10);
	figure(o, n->allocated, how, 10);
	kf_tags_out_fill(o, ' ', 2);
}

static void heading(struct kf_tags_out *o, unsigned int how)
{
	const char *gap = how & KF_TREE_EXACT ? "    " : "";

	if (!(how & KF_TREE_BARE))
		kf_tags_out_print(o,
				  "%s    LIVE       %%%s      SELF%s      PEAK"
				  "%s      EVER  TAG\n",
				  gap, gap, gap, gap);
}

/* The thread of a tree, behind its root's name. */
static void owner(struct kf_tags_out *o, const struct kf_stats_tag *t)
{
	if (t->tid > 0)
		kf_tags_out_print(o, " (thread %d)", t->tid);
	else
		kf_tags_out_print(o, t->state == KF_TAG_FOLDED
					     ? " (threads that have ended)"
					     : " (several threads)");
}

static void format_tree_line(struct kf_tags_out *o,
			     const struct kf_tags_view *v, uint32_t entry,
			     unsigned int share, unsigned int how)
{
	const struct kf_tags_node *n = &v->node[entry];
	struct kf_tags_name name = kf_tags_name(v, entry);

	figures(o, v, entry, share, how);
	kf_tags_out_fill(o, ' ', KF_MIN(2 * n->depth, (uint32_t)MAX_INDENT));
	kf_tags_out_quoted(o, name.s, KF_QUOTE_LINE);
	if (!n->parent)
		owner(o, &v->tag[entry]);
	if (share >= HOT)
		kf_tags_out_print(o, "  <<<- hot %s",
				  n->child ? "path" : "leaf");
	kf_tags_out_print(o, "\n");
}

bool kf_tags_write_tree(const struct kf_tags_view *v, unsigned int how,
			const struct kf_tags_sink *to)
{
	uint64_t whole = kf_tags_live(v->allocated, v->freed);
	uint64_t hidden = 0;
	struct kf_tags_out o;
	uint32_t at = v->nr ? v->node[0].child : 0;

	kf_tags_out_begin(&o, to);
	heading(&o, how);
	while (at) {
		const struct kf_tags_node *n = &v->node[at];
		uint64_t live = kf_tags_live(n->sum_allocated, n->sum_freed);
		unsigned int share = kf_tags_share(live, whole);

		if (how & KF_TREE_SMALL || !n->parent ||
		    !format_tree_is_small(live, share)) {
			format_tree_line(&o, v, at, share, how);
			at = kf_tags_next(v, 0, at);
		} else {
			uint32_t end = kf_tags_skip(v, 0, at);

			for (; at != end; at = kf_tags_next(v, 0, at))
				hidden++;
		}
	}
	if (hidden)
		kf_tags_out_print(&o,
				  "%lu tags with less than 1 KiB or 1 %% are "
				  "not shown\n",
				  hidden);
	return kf_tags_out_end(&o);
}
