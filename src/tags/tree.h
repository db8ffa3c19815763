/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trees behind tags.h: entries handed out, nodes found and made, trees
 * claimed, left and folded. Nobody outside src/tags includes it.
 */
#ifndef KF_TAGS_TREE_H
#define KF_TAGS_TREE_H

#include "tags/tags.h"

struct kf_tag_name {
	const char *text;
	size_t len;
	uint64_t hash;
};

/**
 * kf_tree_child() - a node below another, made if need be
 * @parent:	a node of a tree that the caller has
 * @name:	its name
 *
 * Context: who has the tree.
 * Return: the node, or 0 where there is no room.
 */
uint32_t kf_tree_child(uint32_t parent, const struct kf_tag_name *name);

/**
 * kf_tree_claim() - a tree with the name of the calling thread
 *
 * One that a thread of that name left, a new one, or one that is folded.
 *
 * Context: any thread.
 * Return: the tree, or 0 where there is none.
 */
uint32_t kf_tree_claim(void);

/**
 * kf_tree_root() - a tree's root
 * @tree:	the tree
 *
 * Context: who has the tree.
 * Return: the node.
 */
uint32_t kf_tree_root(uint32_t tree);

/**
 * kf_tree_self() - room for the place of the thread that has a tree
 * @tree:	the tree
 *
 * Context: who has the tree.
 * Return: the room, as it was left.
 */
struct kf_tag_self *kf_tree_self(uint32_t tree);

/**
 * kf_tree_leave() - leave a tree to others
 * @tree:	the tree
 *
 * Context: who has the tree.
 */
void kf_tree_leave(uint32_t tree);

/**
 * kf_tree_fork_child() - leave all trees but one to others
 * @own:	that one, or KF_TAG_NO_TREE
 * @tid:	of the thread that has it, in the child
 *
 * Context: a forked child's only thread.
 */
void kf_tree_fork_child(uint32_t own, int32_t tid);

#endif
