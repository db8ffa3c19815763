/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tag table for Graphviz: a cluster for each thread, a box for its root, a
 * node for each entry. The redder and larger a node, the larger its own share
 * of all live bytes. Nodes are named by their entries, as a tag may have
 * several.
 */
#include "tags/format-internal.h"

/* The first fill on which dark letters cannot be read. */
#define WHITE_TEXT 6

/* As in malloc-tag: Brewer's reds and font sizes, by share in percent. */
static const struct {
	unsigned int below;
	unsigned int fill;
	unsigned int font;
} shades[] = {
	{5, 1, 9},   {10, 2, 10}, {20, 3, 12},	       {40, 4, 14},
	{60, 5, 16}, {80, 6, 18}, {UINT32_MAX, 7, 20},
};

static void text(struct kf_tags_out *o, const char *s)
{
	kf_tags_out_quoted(o, s, KF_QUOTE_DOT);
}

static void line_bytes(struct kf_tags_out *o, const char *what, uint64_t n)
{
	kf_tags_out_print(o, "%s", what);
	kf_tags_out_bytes(o, n, 0);
}

static void line_count(struct kf_tags_out *o, const char *what, uint64_t n)
{
	if (n)
		kf_tags_out_print(o, "%s%lu", what, n);
}

static unsigned int line_share(struct kf_tags_out *o,
			       const struct kf_tags_view *v, uint64_t live)
{
	unsigned int share =
		kf_tags_share(live, kf_tags_live(v->allocated, v->freed));

	kf_tags_out_print(o, " (");
	kf_tags_out_share(o, share);
	kf_tags_out_print(o, "%%)");
	return share;
}

static void node(struct kf_tags_out *o, const struct kf_tags_view *v,
		 uint32_t entry)
{
	const struct kf_tags_node *n = &v->node[entry];
	const struct kf_stats_tag *t = &v->tag[entry];
	struct kf_tags_name name = kf_tags_name(v, entry);
	uint64_t total = kf_tags_live(n->sum_allocated, n->sum_freed);
	uint64_t self = kf_tags_live(n->allocated, n->freed);
	unsigned int share, i = 0;

	kf_tags_out_print(o, "  n%u [label=\"%s", entry,
			  n->parent ? "" : "thread ");
	text(o, name.s);
	line_bytes(o, "\\nlive ", total);
	line_share(o, v, total);
	line_bytes(o, "\\nself ", self);
	share = line_share(o, v, self);
	line_bytes(o, "\\nself at most ", t->peak);
	line_bytes(o, "\\nself ever ", n->allocated);
	line_count(o, "\\nentered ", t->entered);
	line_count(o, "\\nmalloc ", t->mallocs);
	line_count(o, "\\ncalloc ", t->callocs);
	line_count(o, "\\nrealloc ", t->reallocs);
	line_count(o, "\\naligned ", t->aligned);
	line_count(o, "\\nfree ", t->frees + t->remote_frees);
	while (share >= shades[i].below * 100ULL)
		i++;
	kf_tags_out_print(
		o, "\"%s fillcolor=%u fontsize=%u%s]\n",
		n->parent ? "" : " shape=box", shades[i].fill, shades[i].font,
		shades[i].fill >= WHITE_TEXT ? " fontcolor=white" : "");
	if (n->parent)
		kf_tags_out_print(o, "  n%u -> n%u\n", n->parent, entry);
}

static void cluster(struct kf_tags_out *o, const struct kf_tags_view *v,
		    uint32_t root)
{
	const struct kf_stats_tag *t = &v->tag[root];
	uint32_t tid = t->tid > 0 ? (uint32_t)t->tid : 0;
	uint64_t failed = 0, nr = 0;

	for (uint32_t at = root; at; at = kf_tags_next(v, root, at)) {
		nr++;
		failed += v->tag[at].failed;
	}
	kf_tags_out_print(o,
			  " subgraph cluster_TID%u_%u {\n  labelloc=b\n"
			  "  label=\"",
			  tid, root);
	if (tid)
		kf_tags_out_print(o, "TID %u", tid);
	else
		kf_tags_out_print(o, t->state == KF_TAG_FOLDED
					     ? "threads that have ended"
					     : "several threads");
	line_count(o, "\\ntags ", nr);
	line_count(o, "\\ntags without room ", failed);
	kf_tags_out_print(o, "\"\n");
	for (uint32_t at = root; at; at = kf_tags_next(v, root, at))
		node(o, v, at);
	kf_tags_out_print(o, " }\n");
}

static void caption(struct kf_tags_out *o, const struct kf_tags_view *v)
{
	kf_tags_out_print(o, " labelloc=b\n label=\"");
	text(o, v->id->name[0] ? v->id->name : v->id->comm);
	line_count(o, "\\nPID ", v->id->pid > 0 ? (uint64_t)v->id->pid : 0);
	line_bytes(o, "\\nlive in all tags ",
		   kf_tags_live(v->allocated, v->freed));
	line_bytes(o, "\\nlive without a tag ", v->untagged);
	if (v->vm_size)
		line_bytes(o, "\\nvirtual size ", v->vm_size);
	if (v->vm_rss)
		line_bytes(o, "\\nresident ", v->vm_rss);
	kf_tags_out_print(o, "\\nstarted ");
	kf_tags_out_time(o, v->started_ns);
	kf_tags_out_print(o, "\\ntaken ");
	kf_tags_out_time(o, v->now_ns);
	kf_tags_out_print(o, "\"\n");
}

bool kf_tags_write_dot(const struct kf_tags_view *v,
		       const struct kf_tags_sink *to)
{
	struct kf_tags_out o;

	kf_tags_out_begin(&o, to);
	kf_tags_out_print(&o, "digraph AllMallocTrees {\n"
			      " node [colorscheme=reds9 style=filled]\n");
	for (uint32_t root = v->nr ? v->node[0].child : 0; root;
	     root = v->node[root].next)
		cluster(&o, v, root);
	caption(&o, v);
	kf_tags_out_print(&o, "}\n");
	return kf_tags_out_end(&o);
}
