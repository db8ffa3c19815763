/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who allocates: a tree of tags for each thread that uses any, and what is
 * live under each of its nodes.
 *
 * The counts are in the stats file's table of tags, which all who ask read; how
 * the nodes hang together is kept in private memory too, as the library decides
 * nothing by what it reads from a file. Both are found by the node's entry,
 * which the marks of its blocks hold.
 *
 * Glossary
 *	node	a tag below those that were pushed before it, in one thread
 *	tree	the nodes of a thread; the root has the thread's name and stands
 *		for what has no tag, so no block is billed to it
 *	idle	a tree whose thread has gone; the next of its name goes on in it
 *	folded	an idle tree without live blocks whose counts were added to the
 *		common tree of all threads that have gone, to be used again
 *
 * There is no lock: a tree is claimed by compare and swap, and then has one
 * writer. Only remote counts are added to by others, atomically.
 */
#ifndef KF_TAGS_TAGS_H
#define KF_TAGS_TAGS_H

#include "base/compiler.h"
#include "stats/stats.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include <string.h>

struct kf_tags_limits {
	uint32_t levels; /* of a tree, its root included */
	uint32_t nodes;	 /* of a tree, its root included */
};

/*
 * A node's private part; written by its tree's thread alone. Pointers to other
 * nodes are for push and pop, which take them as they are.
 */
struct kf_tag_node {
	uint32_t parent; /* 0: a root */
	uint32_t child;
	uint32_t next; /* sibling; 0 for a root */
	uint32_t entry;
	uint32_t generation; /* of the entry: grows with each reuse */
	uint16_t tree;
	uint16_t depth;
	struct kf_tag_node *recent; /* the child that was entered last, or NULL:
				       none, or no short way leads there */
	struct kf_tag_node *up;	    /* where a pop leads; NULL: nowhere */
	struct kf_stats_tag *tag;   /* its entry */
	uint64_t bar;		    /* see kf_tags_came() */
	uint32_t quick;		    /* mark of blocks that need nothing else */
	uint8_t last;		    /* offset of the name's last word */
	uint8_t spare;		    /* bits of that behind the name's NUL */
	bool cut;		    /* the whole name is longer */
	bool stacks;		    /* of its blocks are taken */
	char name[KF_STATS_TAG_NAME]; /* padded with zeroes */
	uint64_t hash;		      /* of the whole name */
} __kf_aligned(KF_CACHE_LINE);

_Static_assert(offsetof(struct kf_tag_node, name) == KF_CACHE_LINE,
	       "what push, pop and calls need is in one line");

/* Constant after the first tree was claimed, but for the counts. */
struct kf_tags {
	struct kf_tags_limits limits;
	struct kf_tag_node *node;
	struct kf_stats_tag *tag;
	uint32_t nr;	    /* entries handed out; atomic */
	uint32_t nr_trees;  /* atomic */
	const char *base;   /* a tag that every thread begins with, or NULL */
	const char *stacks; /* patterns of tags with stacks, or NULL */
	uint64_t began_ns;  /* CLOCK_REALTIME of the first tree; atomic */
};

extern struct kf_tags kf_tags __kf_hidden;

/* Stands for no node: nothing is above it or below. */
extern struct kf_tag_node kf_tag_blank __kf_hidden;

#define KF_TAG_NO_TREE UINT32_MAX

struct kf_heap;

/*
 * A thread's place in its tree; kept with the tree. While tags are lost or
 * paused @at is the blank one, so that nothing goes the short way.
 */
struct kf_tag_self {
	struct kf_tag_node *at;	  /* what is current, or the blank one */
	struct kf_tag_node *kept; /* what is current while @at is blank */
	uint32_t tree;		  /* or KF_TAG_NO_TREE */
	uint32_t lost;		  /* pushes beyond what had room */
	uint32_t paused;	  /* so often */
	struct kf_heap *blocks;	  /* where its blocks come from while a push or
				     a pop has nothing to do but to change @at;
				     or NULL */
};

/* The places of threads without a tree, and of those that have left theirs. */
extern struct kf_tag_self kf_tag_nobody __kf_hidden;
extern struct kf_tag_self kf_tag_ended __kf_hidden;

extern __thread struct kf_tag_self *kf_tag_self __kf_hidden
	__attribute__((tls_model("initial-exec")));

/*
 * A block's mark says its node, and that one's tree above it: so who frees it
 * sees whether it is of the own tree without a look at the node.
 */
#define KF_TAG_TREE_SHIFT 16

static inline uint32_t kf_tag_mark(const struct kf_tag_node *node)
{
	return node->parent
		       ? (uint32_t)node->tree << KF_TAG_TREE_SHIFT | node->entry
		       : 0;
}

static inline uint32_t kf_tag_of_mark(uint32_t mark)
{
	return mark & ((1u << KF_TAG_TREE_SHIFT) - 1);
}

static inline bool kf_tag_has_tree(const struct kf_tag_self *self)
{
	return self->tree != KF_TAG_NO_TREE;
}

/* The current node; the blank one where there is no tree. */
static inline struct kf_tag_node *kf_tag_current(const struct kf_tag_self *self)
{
	return self->lost || self->paused ? self->kept : self->at;
}

/* The mark for the calling thread's blocks; 0 none. */
static inline uint32_t kf_tag_mark_now(const struct kf_tag_self *self)
{
	return self->paused ? 0 : kf_tag_mark(kf_tag_current(self));
}

/* How a block came. */
enum kf_tag_call {
	KF_TAG_MALLOC,
	KF_TAG_CALLOC,
	KF_TAG_REALLOC,
	KF_TAG_ALIGNED
};

/**
 * kf_tags_claim() - have a tree for the calling thread
 *
 * Context: any thread; not inside a stats call. Takes no lock.
 * Return: false where there is no room for one, or the thread has ended.
 */
bool kf_tags_claim(void);

/**
 * kf_tags_leave() - the calling thread ends: leave its tree to the next
 *
 * Context: any thread.
 */
void kf_tags_leave(void);

/**
 * kf_tags_fork_child() - leave to others what threads had that are gone
 *
 * Context: a forked child's only thread, after kf_stats_fork_child().
 */
void kf_tags_fork_child(void);

/**
 * kf_tags_find() - the node of a tag below another, made if need be
 * @parent:	a node of the calling thread's tree
 * @name:	the tag; compared whole, and shown as far as there is room
 *
 * Context: the tree's thread.
 * Return: the node, or 0 where there is no room.
 */
uint32_t kf_tags_find(uint32_t parent, const char *name);

/**
 * kf_tags_push() - enter a tag
 * @name:	the tag
 *
 * Where it finds no room its blocks are billed to the current tag, which counts
 * that, until the pop.
 *
 * Context: a thread with a tree.
 */
void kf_tags_push(const char *name);

/**
 * kf_tags_pop() - leave the tag that was entered last; nothing at the base
 *
 * Context: a thread with a tree.
 */
void kf_tags_pop(void);

/**
 * kf_tags_pause() - bill nothing for a while, or go on
 * @on:		which; may be nested
 *
 * Context: a thread with a tree.
 */
void kf_tags_pause(bool on);

/**
 * kf_tags_above() - the node of a depth on the way to another
 * @node:	that other
 * @depth:	the depth, at most that of @node
 *
 * Context: any thread; of a node that lives.
 * Return: the node.
 */
const struct kf_tag_node *kf_tags_above(uint32_t node, uint32_t depth);

/**
 * kf_tags_reset_peaks() - let each node's peak be what is live in it
 *
 * Context: any thread.
 */
void kf_tags_reset_peaks(void);

/**
 * kf_tags_gone_elsewhere() - count a block that another thread's tag loses
 * @node:	the node
 * @usable:	its usable bytes
 *
 * Context: any thread.
 */
void kf_tags_gone_elsewhere(uint32_t node, size_t usable);

static inline struct kf_stats_tag *kf_tags_at(uint32_t node)
{
	return &kf_tags.tag[node];
}

/**
 * kf_tags_rise() - a node's peak, where it is to be looked at
 * @node:	of the calling thread
 *
 * Context: the tree's thread.
 */
void kf_tags_rise(struct kf_tag_node *node);

/**
 * kf_tags_came() - count a block that a tag gets
 * @node:	the node, of the calling thread
 * @usable:	its usable bytes
 * @call:	which call gave it
 *
 * As long as what its own thread did not free stays below the bar no peak is
 * reached: the bar is the peak and what others had freed when it was set.
 *
 * Context: the tree's thread.
 * Return: whether kf_tags_rise() must be called next.
 */
static __always_inline_kf bool
kf_tags_came(struct kf_tag_node *node, size_t usable, enum kf_tag_call call)
{
	struct kf_stats_tag *t = node->tag;
	uint64_t allocated = t->allocated + usable;

	(&t->mallocs)[call]++;
	t->allocated = allocated;
	return unlikely(allocated - t->freed > node->bar);
}

/**
 * kf_tags_gone() - count a block that a tag loses
 * @node:	the node
 * @usable:	its usable bytes
 * @freed:	by free, not by realloc
 *
 * Context: any thread.
 */
static inline void kf_tags_gone(uint32_t node, size_t usable, bool freed)
{
	struct kf_stats_tag *t = kf_tags_at(node);

	if (unlikely(kf_tags.node[node].tree != kf_tag_self->tree)) {
		kf_tags_gone_elsewhere(node, usable);
		return;
	}
	*(freed ? &t->frees : &t->resized) += 1;
	t->freed += usable;
}

/* Whether the stack of each block of a node is taken. */
static inline bool kf_tags_has_stacks(uint32_t node)
{
	return kf_tags.node[node].stacks;
}

/**
 * kf_tag_is_named() - whether a node that is not cut has a name
 * @node:	the node
 * @name:	the name
 *
 * Looks at words, which may end behind the name, but not in another page.
 *
 * Context: any.
 * Return: true if so; false if not, or if it would have to look there.
 */
__attribute__((no_sanitize_address)) static inline bool
kf_tag_is_named(const struct kf_tag_node *node, const char *name)
{
	uint64_t mine, other;
	size_t i;

	/* Compilers know how long some names are. */
	__asm__("" : "+r"(name));
	if (unlikely(((uintptr_t)name & (KF_PAGE - 1)) + node->last >
		     KF_PAGE - sizeof(mine)))
		return false;
	for (i = 0; i < node->last; i += sizeof(mine)) {
		memcpy(&mine, node->name + i, sizeof(mine));
		memcpy(&other, name + i, sizeof(other));
		if (mine != other)
			return false;
	}
	memcpy(&mine, node->name + i, sizeof(mine));
	memcpy(&other, name + i, sizeof(other));
	/* Both architectures have the first byte lowest. */
	return !((mine ^ other) << node->spare);
}

/**
 * kf_tags_push_again() - kf_tags_push(), for the tag entered last time here
 * @self:	the thread's
 * @name:	the tag
 *
 * Context: any thread.
 * Return: false where it is another tag: nothing was done.
 */
static inline bool kf_tags_push_again(struct kf_tag_self *self,
				      const char *name)
{
	struct kf_tag_node *next = self->at->recent;

	if (unlikely(!next || !kf_tag_is_named(next, name)))
		return false;
	next->tag->entered++;
	self->at = next;
	return true;
}

#endif
