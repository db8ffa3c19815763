/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who allocates: a tree of tags for each thread that uses any, and what is
 * live under each of its nodes.
 *
 * The counts are in the stats file's table of tags, which all who ask read; how
 * the nodes hang together is kept in private memory too, as the library decides
 * nothing by what it reads from a file. Both are found by the node's entry,
 * which is also the mark of its blocks.
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

#include <string.h>

struct kf_tags_limits {
	uint32_t levels; /* of a tree, its root included */
	uint32_t nodes;	 /* of a tree, its root included */
};

/* A node's private part; written by its tree's thread alone. */
struct kf_tag_node {
	uint32_t parent; /* 0: a root */
	uint32_t child;
	uint32_t next;	 /* sibling; 0 for a root */
	uint32_t recent; /* the child that was entered last */
	uint32_t tree;
	uint32_t depth;
	uint32_t generation; /* of the entry: grows with each reuse */
	bool cut;	     /* the whole name is longer */
	bool stacks;	     /* of its blocks are taken */
	uint64_t hash;	     /* of the whole name */
	char name[KF_STATS_TAG_NAME];
} __kf_aligned(KF_CACHE_LINE);

/* Constant after the first tree was claimed, but for the counts. */
struct kf_tags {
	struct kf_tags_limits limits;
	struct kf_tag_node *node;
	struct kf_stats_tag *tag;
	uint32_t nr;	    /* entries handed out; atomic */
	uint32_t nr_trees;  /* atomic */
	const char *base;   /* a tag that every thread begins with, or NULL */
	const char *stacks; /* patterns of tags with stacks, or NULL */
	uint64_t began_ns;  /* CLOCK_REALTIME of the first tree */
};

extern struct kf_tags kf_tags __kf_hidden;

/* A thread's place in its tree. */
struct kf_tag_self {
	uint32_t mark;	  /* of its blocks now; 0 none */
	uint32_t current; /* 0: it has no tree */
	uint32_t base;	  /* what is current when nothing is pushed */
	uint32_t tree;
	uint32_t lost;	 /* pushes beyond what had room */
	uint32_t paused; /* so often */
	bool ended;
};

extern __thread struct kf_tag_self kf_tag_self __kf_hidden
	__attribute__((tls_model("initial-exec")));

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
 * Context: any thread.
 */
void kf_tags_pause(bool on);

/**
 * kf_tags_adopt() - enter the tags of another thread
 * @node:	its node when it captured them
 * @generation:	of that entry then
 *
 * Context: a thread with a tree.
 * Return: tags entered: so many pops leave them; 0 where the tree is another's
 *	   by now.
 */
unsigned int kf_tags_adopt(uint32_t node, uint32_t generation);

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
 * kf_tags_came() - count a block that a tag gets
 * @node:	a node of the calling thread
 * @usable:	its usable bytes
 * @call:	which call gave it
 *
 * Context: the tree's thread.
 */
static inline void kf_tags_came(uint32_t node, size_t usable,
				enum kf_tag_call call)
{
	struct kf_stats_tag *t = kf_tags_at(node);
	uint64_t live;

	(&t->mallocs)[call]++;
	t->allocated += usable;
	live = t->allocated - t->freed -
	       __atomic_load_n(&t->remote_freed, __ATOMIC_RELAXED);
	if (live > t->peak)
		t->peak = live;
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

	if (unlikely(kf_tags.node[node].tree != kf_tag_self.tree)) {
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

/* Be at a node of one's tree. */
static inline void kf_tags_be_at(struct kf_tag_self *self, uint32_t node)
{
	self->current = node;
	self->mark = node == self->base && !kf_tags.base ? 0 : node;
	if (unlikely(self->paused))
		self->mark = 0;
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
	struct kf_tag_node *node;
	uint32_t next;

	if (unlikely(!self->current || self->lost))
		return false;
	next = kf_tags.node[self->current].recent;
	node = &kf_tags.node[next];
	/* Of a name that was cut there may be more than one. */
	if (unlikely(!next || node->cut || strcmp(node->name, name)))
		return false;
	kf_tags_at(next)->entered++;
	kf_tags_be_at(self, next);
	return true;
}

#endif
