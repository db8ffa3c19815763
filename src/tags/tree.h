/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trees of tags: entries given out, nodes found and made, trees claimed, left
 * and folded. No other directory includes this header.
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
 * kf_tree_child() - find or make a node below another one
 * @parent:	a node of the thread's tree
 * @name:	the node's name
 *
 * Context: the tree's thread.
 * Return: the node, or 0 where there is no room.
 */
uint32_t kf_tree_child(uint32_t parent, const struct kf_tag_name *name);

/**
 * kf_tree_claim() - claim a tree with the name of the calling thread
 *
 * Takes the tree of an ended thread of that name, a new one, or a folded one.
 *
 * Context: any thread.
 * Return: the tree, or 0 where there is none.
 */
uint32_t kf_tree_claim(void);

/**
 * kf_tree_root() - a tree's root
 * @tree:	the tree
 *
 * Context: the tree's thread.
 * Return: the node.
 */
uint32_t kf_tree_root(uint32_t tree);

/**
 * kf_tree_self() - where the position of a tree's thread is stored
 * @tree:	the tree
 *
 * Context: the tree's thread.
 * Return: the position of the tree's last thread.
 */
struct kf_tag_self *kf_tree_self(uint32_t tree);

/**
 * kf_tree_leave() - leave a tree to other threads
 * @tree:	the tree
 *
 * Context: the tree's thread.
 */
void kf_tree_leave(uint32_t tree);

/**
 * kf_tree_fork_child() - leave all trees but one to other threads
 * @own:	the tree that stays, or KF_TAG_NO_TREE
 * @tid:	tid of its thread in the child
 *
 * Context: a forked child's only thread.
 */
void kf_tree_fork_child(uint32_t own, int32_t tid);

#endif
