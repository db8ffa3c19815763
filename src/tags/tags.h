/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree of tags for each thread that uses tags, with the live bytes of each
 * node.
 *
 * The counts are in the stats file's table of tags, for readers. The links
 * between the nodes are also in private memory, as the library decides nothing
 * by what it reads from a file. Both have the same index, a node's entry, which
 * is in the marks of the node's blocks.
 *
 * Glossary
 *	node	a tag below those that were pushed before it, in one thread
 *	tree	the nodes of a thread; the root has the thread's name and no
 *		blocks, as blocks without a tag are not counted
 *	idle	a tree whose thread has ended; the next thread of the same name
 *		takes it
 *	folded	an idle tree without live blocks, whose counts were added to the
 *		common tree of ended threads, and whose entries are free
 *
 * There is no lock: a thread claims a tree by compare and swap and is then its
 * only writer. Other threads only add to the remote counts, atomically.
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
 * A node's private part; written by its tree's thread alone, except @bar. The
 * pointers to other nodes are for the fast paths of push and pop.
 */
struct kf_tag_node {
	uint32_t parent; /* 0: a root */
	uint32_t child;
	uint32_t next; /* sibling; 0 for a root */
	uint32_t entry;
	uint32_t generation; /* of the entry: grows with each reuse */
	uint16_t tree;
	uint16_t depth;
	struct kf_tag_node *recent; /* the child that was entered last; NULL:
				       none, or push has no fast path to it */
	struct kf_tag_node *up;	    /* the node after a pop; NULL: no pop */
	struct kf_stats_tag *tag;   /* its entry in the stats file */
	uint64_t bar;		    /* see kf_tags_came(); atomic */
	uint32_t quick; /* mark of its blocks, if they need no stack; else 0 */
	uint8_t last;	/* offset of the name's last word */
	uint8_t spare;	/* bits of that word behind the name's NUL */
	bool cut;	/* @name is the begin of a longer name */
	bool stacks;	/* stacks of its blocks are taken */
	char name[KF_STATS_TAG_NAME]; /* padded with zeroes */
	uint64_t hash;		      /* of the whole name */
} __kf_aligned(KF_CACHE_LINE);

_Static_assert(offsetof(struct kf_tag_node, name) == KF_CACHE_LINE,
	       "push, pop and calls read one cache line");

/* Constant after the first tree was claimed, except the atomic fields. */
struct kf_tags {
	struct kf_tags_limits limits;
	struct kf_tag_node *node;
	struct kf_stats_tag *tag;
	uint32_t nr;	    /* entries handed out; atomic */
	uint32_t nr_trees;  /* atomic */
	const char *base;   /* the first tag of every thread, or NULL */
	const char *stacks; /* patterns of tags with stacks, or NULL */
	uint64_t began_ns;  /* CLOCK_REALTIME of the first tree; atomic */
};

extern struct kf_tags kf_tags __kf_hidden;

/* Stands for no node: it has no parent and no children. */
extern struct kf_tag_node kf_tag_blank __kf_hidden;

#define KF_TAG_NO_TREE UINT32_MAX

struct kf_heap;

/*
 * A thread's position in its tree; stored in the tree. While pushes are lost or
 * tags are paused @at is kf_tag_blank, so that no fast path is taken.
 */
struct kf_tag_self {
	struct kf_tag_node *at;	  /* the current node, or kf_tag_blank */
	struct kf_tag_node *kept; /* the current node while @at is blank */
	uint32_t tree;		  /* or KF_TAG_NO_TREE */
	uint32_t lost;		/* pushes that found no room, and no pop yet */
	uint32_t paused;	/* nested pauses */
	struct kf_heap *blocks; /* the heap of the thread's blocks while a
				   push or pop only has to change @at; else
				   NULL */
};

/* Positions of threads without a tree, and of threads that have ended. */
extern struct kf_tag_self kf_tag_nobody __kf_hidden;
extern struct kf_tag_self kf_tag_ended __kf_hidden;

extern __thread struct kf_tag_self *kf_tag_self __kf_hidden
	__attribute__((tls_model("initial-exec")));

/*
 * A block's mark is its node's entry, with the node's tree in the upper bits: a
 * free sees whether the block is of the thread's own tree without reading the
 * node.
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

/* The call that allocated a block. */
enum kf_tag_call {
	KF_TAG_MALLOC,
	KF_TAG_CALLOC,
	KF_TAG_REALLOC,
	KF_TAG_ALIGNED
};

/**
 * kf_tags_claim() - take a tree for the calling thread
 *
 * Context: any thread; not inside a stats call. Takes no lock.
 * Return: false where there is no room for a tree, or the thread has ended.
 */
bool kf_tags_claim(void);

/**
 * kf_tags_leave() - leave the calling thread's tree to other threads at its end
 *
 * Context: any thread.
 */
void kf_tags_leave(void);

/**
 * kf_tags_fork_child() - leave the trees of the parent's other threads
 *
 * Context: a forked child's only thread, after kf_stats_fork_child().
 */
void kf_tags_fork_child(void);

/**
 * kf_tags_find() - find or make the node of a tag below another one
 * @parent:	a node of the calling thread's tree
 * @name:	the tag; all of it is compared, its begin is stored
 *
 * Context: the tree's thread.
 * Return: the node, or 0 where there is no room.
 */
uint32_t kf_tags_find(uint32_t parent, const char *name);

/**
 * kf_tags_push() - enter a tag
 * @name:	the tag
 *
 * Without room for the node the current tag counts a failure, and gets the
 * blocks until the pop.
 *
 * Context: a thread with a tree.
 */
void kf_tags_push(const char *name);

/**
 * kf_tags_pop() - leave the current tag; at the base nothing changes
 *
 * Context: a thread with a tree.
 */
void kf_tags_pop(void);

/**
 * kf_tags_pause() - pause or resume tagging in the calling thread
 * @on:		true: pause; pauses nest
 *
 * Context: a thread with a tree.
 */
void kf_tags_pause(bool on);

/**
 * kf_tags_above() - the ancestor of a node at a depth
 * @node:	the node
 * @depth:	the depth, at most that of @node
 *
 * Context: any thread; the node is in use.
 * Return: the ancestor.
 */
const struct kf_tag_node *kf_tags_above(uint32_t node, uint32_t depth);

/**
 * kf_tags_reset_peaks() - set each node's peak to its live bytes
 *
 * Context: any thread.
 */
void kf_tags_reset_peaks(void);

/**
 * kf_tags_gone_remote() - count a block that another thread's tag loses
 * @node:	the node
 * @usable:	its usable bytes
 *
 * Context: any thread.
 */
void kf_tags_gone_remote(uint32_t node, size_t usable);

static inline struct kf_stats_tag *kf_tags_at(uint32_t node)
{
	return &kf_tags.tag[node];
}

/**
 * kf_tags_rise() - update a node's peak
 * @node:	the node, of the calling thread
 *
 * Context: the tree's thread.
 */
void kf_tags_rise(struct kf_tag_node *node);

/**
 * kf_tags_came() - count a block that a tag gets
 * @node:	the node, of the calling thread
 * @usable:	its usable bytes
 * @call:	the call that allocated it
 *
 * The node's bar is its peak plus the bytes that other threads had freed when
 * the bar was set. The peak is not reached while the bytes that the node's own
 * thread did not free stay below the bar.
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
 * @freed:	true: by free; false: by realloc
 *
 * Context: any thread.
 */
static inline void kf_tags_gone(uint32_t node, size_t usable, bool freed)
{
	struct kf_stats_tag *t = kf_tags_at(node);

	if (unlikely(kf_tags.node[node].tree != kf_tag_self->tree)) {
		kf_tags_gone_remote(node, usable);
		return;
	}
	*(freed ? &t->frees : &t->resized) += 1;
	t->freed += usable;
}

/* Whether the stacks of a node's blocks are taken. */
static inline bool kf_tags_has_stacks(uint32_t node)
{
	return kf_tags.node[node].stacks;
}

/**
 * kf_tag_is_named() - whether a node has a name
 * @node:	the node, whose name is not cut
 * @name:	the name
 *
 * Compares whole words, which may end behind the name but not in another page.
 *
 * Context: any.
 * Return: true if it has; false if not, or if a word would reach into another
 *	   page.
 */
__attribute__((no_sanitize_address)) static inline bool
kf_tag_is_named(const struct kf_tag_node *node, const char *name)
{
	uint64_t mine, other;
	size_t i;

	/* Compilers know the length of constant names. */
	kf_hide(name);
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
	/* On both architectures the first byte is the lowest. */
	return !((mine ^ other) << node->spare);
}

/**
 * kf_tags_push_again() - kf_tags_push() of the child that was entered last
 * @self:	the thread's position
 * @name:	the tag
 *
 * Context: any thread.
 * Return: false where @name is another tag: nothing changed.
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
