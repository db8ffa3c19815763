/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A red-black tree whose nodes lie inside the members, with augmentation.
 *
 * Insertion, removal and stepping take O(log n) and never fail, since the tree
 * owns no memory. Comparing keys is left to the callers: they walk down from
 * root->node themselves and name the place of a new node. So is locking.
 *
 * Augmentation: a member may keep a value about the whole subtree below it,
 * such as the largest length in it. The callback update(node) computes node's
 * value anew from node itself and from the values of its two children (NULL
 * where there is none), stores it, and returns whether it changed. The value
 * may depend only on which members the subtree holds and in which order, not
 * on the subtree's shape. After each function here every value is right,
 * if every value was right before. A tree without augmentation gives NULL.
 */
#ifndef KF_BASE_RBTREE_H
#define KF_BASE_RBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Invariant: no red node has a red child; all ways from a node down to its
 * leaves (the NULL links) pass equally many black nodes; the root is black.
 */
struct kf_rb_node {
	uintptr_t parent_color;	  /* the parent, bit 0: this node is black */
	struct kf_rb_node *left;  /* members that come before, or NULL */
	struct kf_rb_node *right; /* members that come after, or NULL */
};

/* All zero is an empty tree. */
struct kf_rb_root {
	struct kf_rb_node *node; /* NULL: the tree is empty */
};

/**
 * kf_rb_parent() - the node above
 * @node:	a node in a tree
 *
 * Context: the caller keeps writers away from the tree.
 * Return: the parent, NULL for the root.
 */
static inline struct kf_rb_node *kf_rb_parent(const struct kf_rb_node *node)
{
	return (struct kf_rb_node *)(node->parent_color & ~(uintptr_t)1);
}

/**
 * kf_rb_insert() - put a node into the tree
 * @root:	the tree
 * @node:	the node; what its links held is forgotten; its member's own
 *		key and value are set already
 * @parent:	the node under which the walk down ended, NULL in an empty tree
 * @link:	where in @parent: &parent->left or &parent->right, which holds
 *		NULL; &root->node in an empty tree
 * @update:	the augmentation, or NULL
 *
 * Context: the caller keeps others away from the tree.
 */
void kf_rb_insert(struct kf_rb_root *root, struct kf_rb_node *node,
		  struct kf_rb_node *parent, struct kf_rb_node **link,
		  bool (*update)(struct kf_rb_node *node));

/**
 * kf_rb_erase() - take a node out of the tree
 * @root:	the tree
 * @node:	a node in it; its links are meaningless afterwards
 * @update:	the augmentation, or NULL
 *
 * Context: the caller keeps others away from the tree.
 */
void kf_rb_erase(struct kf_rb_root *root, struct kf_rb_node *node,
		 bool (*update)(struct kf_rb_node *node));

/**
 * kf_rb_update_up() - repair the values after a member's own value changed
 * @node:	the member's node; NULL does nothing
 * @update:	the augmentation
 *
 * Goes up from @node and stops at the first node whose value stays as it was.
 * The change must not have moved the member in the order.
 *
 * Context: the caller keeps others away from the tree.
 */
void kf_rb_update_up(struct kf_rb_node *node,
		     bool (*update)(struct kf_rb_node *node));

/**
 * kf_rb_first() - the node that comes before all others
 * @root:	the tree
 *
 * Context: the caller keeps writers away from the tree.
 * Return: the node, NULL when the tree is empty.
 */
struct kf_rb_node *kf_rb_first(const struct kf_rb_root *root);

/**
 * kf_rb_last() - the node that comes after all others
 * @root:	the tree
 *
 * Context: the caller keeps writers away from the tree.
 * Return: the node, NULL when the tree is empty.
 */
struct kf_rb_node *kf_rb_last(const struct kf_rb_root *root);

/**
 * kf_rb_next() - the node that comes after a node
 * @node:	a node in a tree
 *
 * Context: the caller keeps writers away from the tree.
 * Return: the node, NULL when @node is the last.
 */
struct kf_rb_node *kf_rb_next(const struct kf_rb_node *node);

/**
 * kf_rb_prev() - the node that comes before a node
 * @node:	a node in a tree
 *
 * Context: the caller keeps writers away from the tree.
 * Return: the node, NULL when @node is the first.
 */
struct kf_rb_node *kf_rb_prev(const struct kf_rb_node *node);

#endif
