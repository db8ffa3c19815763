/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tag table as text: JSON, Graphviz' DOT, and a tree for people.
 *
 * Pure functions over a view of a table: the library's own, one from a stats
 * file, or one from JSON. No allocation, no system call, no lock, no recursion,
 * and less than 2 KiB of stack: a signal handler may call them, and counters
 * may change meanwhile. The text is valid whatever the table holds: loops,
 * missing parents, names of any bytes. A sink takes the text.
 *
 *	view.tag, view.nr, view.node and the rest are filled in
 *	kf_tags_prepare(&view);
 *	kf_tags_write_json(&view, &sink);
 */
#ifndef KF_TAGS_FORMAT_H
#define KF_TAGS_FORMAT_H

#include "base/compiler.h"
#include "stats/layout.h"

/* Version of the JSON: grows by one when a field changes its meaning. */
#define KF_TAGS_SCHEMA 1

/*
 * An entry's links and sums, by kf_tags_prepare(). Entry 0 is no tag: 0 ends
 * lists, and entry 0 is the parent of the roots.
 */
struct kf_tags_node {
	uint32_t parent;
	uint32_t child; /* the first child, which has the most live bytes */
	uint32_t next;	/* sibling */
	uint32_t depth; /* 0 for a root */
	uint64_t allocated;
	uint64_t freed;		/* by all threads */
	uint64_t sum_allocated; /* with all tags below */
	uint64_t sum_freed;
};

struct kf_tags_view {
	const struct kf_stats_identity *id;
	const struct kf_stats_tag *tag; /* entry 0 is not read */
	uint32_t nr;			/* entries at @tag and at @node */
	struct kf_tags_node *node;	/* the caller's memory */
	uint64_t started_ns;		/* CLOCK_REALTIME */
	uint64_t now_ns;		/* CLOCK_REALTIME */
	uint64_t vm_size;		/* bytes; 0: unknown */
	uint64_t vm_rss;		/* bytes; 0: unknown */
	uint64_t untagged;		/* live bytes of blocks without a tag */
	uint64_t self_usage;		/* bytes of the tables of tags */
	uint32_t max_nodes;		/* of a thread's tree; 0: unknown */
	uint32_t max_levels;		/* of a thread's tree; 0: unknown */

	/* out, by kf_tags_prepare() */
	uint64_t allocated; /* over all trees */
	uint64_t freed;
	uint32_t nr_roots;
};

/* A function that takes text. */
struct kf_tags_sink {
	/* Returns whether it took all bytes; it is not called after false. */
	bool (*write)(void *arg, const char *bytes, size_t len);
	void *arg;
};

/**
 * kf_tags_prepare() - link the entries and sum them up
 * @v:		the view; its nodes and sums are filled in
 *
 * Entries whose parents do not lead to a root are left out. Siblings are sorted
 * by their live bytes, with the entries below. Takes O(n log n).
 *
 * Context: any thread, signal handlers too; the table may change meanwhile.
 */
void kf_tags_prepare(struct kf_tags_view *v);

/**
 * kf_tags_next() - walk through a tree, parents first
 * @v:		the view, prepared
 * @root:	the entry where the walk began; 0: all trees
 * @at:		the last entry; @root for the first step
 *
 * Context: any thread, signal handlers too.
 * Return: the next entry below @root; 0 at the end.
 */
uint32_t kf_tags_next(const struct kf_tags_view *v, uint32_t root, uint32_t at);

/**
 * kf_tags_live() - live bytes
 * @allocated:	bytes allocated
 * @freed:	bytes freed
 *
 * Context: any thread, signal handlers too.
 * Return: the difference; 0 where a free was seen before its malloc.
 */
static inline uint64_t kf_tags_live(uint64_t allocated, uint64_t freed)
{
	return allocated > freed ? allocated - freed : 0;
}

/**
 * kf_tags_share() - a part of a whole in hundredths of a percent
 * @part:	the part
 * @whole:	the whole
 *
 * Context: any thread, signal handlers too.
 * Return: 0 to 10000; 0 where the whole is 0.
 */
unsigned int kf_tags_share(uint64_t part, uint64_t whole);

/**
 * kf_tags_write_json() - write JSON
 * @v:		the view, prepared
 * @to:		where to
 *
 * Context: any thread, signal handlers too.
 * Return: whether the sink took it all.
 */
bool kf_tags_write_json(const struct kf_tags_view *v,
			const struct kf_tags_sink *to);

/**
 * kf_tags_write_dot() - write a graph for Graphviz
 * @v:		the view, prepared
 * @to:		where to
 *
 * Context: any thread, signal handlers too.
 * Return: whether the sink took it all.
 */
bool kf_tags_write_dot(const struct kf_tags_view *v,
		       const struct kf_tags_sink *to);

/* How a tree is written, or-ed. */
enum kf_tags_tree {
	KF_TREE_SMALL = 1, /* tags below 1 KiB or one percent of all too */
	KF_TREE_EXACT = 2, /* bytes, not rounded */
	KF_TREE_BARE = 4,  /* no heading */
};

/**
 * kf_tags_write_tree() - write a tree for people
 * @v:		the view, prepared
 * @how:	of enum kf_tags_tree
 * @to:		where to
 *
 * Context: any thread, signal handlers too.
 * Return: whether the sink took it all.
 */
bool kf_tags_write_tree(const struct kf_tags_view *v, unsigned int how,
			const struct kf_tags_sink *to);

#endif
