/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The balancing of kf_rb_root: bottom up, by one kind of rotation.
 *
 * lift() is the only rotation: it puts a node in its parent's place. Written
 * with "near" and "far" instead of "left" and "right", each repair is one case
 * and not a mirrored pair. Recolouring never touches augmented values; lift()
 * keeps them right, so that the repairs need not think of them.
 */
#include "base/rbtree.h"

#include "base/compiler.h"

#define BLACK ((uintptr_t)1)

static bool is_red(const struct kf_rb_node *node)
{
	return node && !(node->parent_color & BLACK);
}

static void set_red(struct kf_rb_node *node)
{
	node->parent_color &= ~BLACK;
}

static void set_black(struct kf_rb_node *node)
{
	node->parent_color |= BLACK;
}

static void set_parent(struct kf_rb_node *node, struct kf_rb_node *parent)
{
	node->parent_color = (uintptr_t)parent | (node->parent_color & BLACK);
}

static struct kf_rb_node **rbtree_child(struct kf_rb_node *node, bool right)
{
	return right ? &node->right : &node->left;
}

/* Make what pointed to @node from above point to @other, which may be NULL. */
static void replace_below(struct kf_rb_root *root, struct kf_rb_node *parent,
			  struct kf_rb_node *node, struct kf_rb_node *other)
{
	if (!parent)
		root->node = other;
	else
		*rbtree_child(parent, parent->right == node) = other;
}

/* Rotate so that @node comes to stand above the node that was its parent. */
static void lift(struct kf_rb_root *root, struct kf_rb_node *node,
		 bool (*update)(struct kf_rb_node *node))
{
	struct kf_rb_node *parent = kf_rb_parent(node);
	struct kf_rb_node *above = kf_rb_parent(parent);
	bool right = parent->right == node;
	struct kf_rb_node *inner = *rbtree_child(node, !right);

	*rbtree_child(parent, right) = inner;
	if (inner)
		set_parent(inner, parent);
	*rbtree_child(node, !right) = parent;
	replace_below(root, above, parent, node);
	set_parent(parent, node);
	set_parent(node, above);
	if (update) {
		update(parent);
		update(node);
	}
}

void kf_rb_update_up(struct kf_rb_node *node,
		     bool (*update)(struct kf_rb_node *node))
{
	while (node && update(node))
		node = kf_rb_parent(node);
}

/* Only rule that may be broken: @node and its parent are both red. */
static void repair_red(struct kf_rb_root *root, struct kf_rb_node *node,
		       bool (*update)(struct kf_rb_node *node))
{
	struct kf_rb_node *parent, *above, *uncle;

	while (is_red(parent = kf_rb_parent(node))) {
		above = kf_rb_parent(parent);
		uncle = *rbtree_child(above, above->left == parent);
		if (!is_red(uncle)) {
			if ((parent->left == node) != (above->left == parent)) {
				lift(root, node, update);
				parent = node;
			}
			lift(root, parent, update);
			set_black(parent);
			set_red(above);
			break;
		}
		set_black(parent);
		set_black(uncle);
		set_red(above);
		node = above;
	}
	set_black(root->node);
}

void kf_rb_insert(struct kf_rb_root *root, struct kf_rb_node *node,
		  struct kf_rb_node *parent, struct kf_rb_node **link,
		  bool (*update)(struct kf_rb_node *node))
{
	node->parent_color = (uintptr_t)parent;
	node->left = NULL;
	node->right = NULL;
	*link = node;
	if (update) {
		/*
		 * The new node may hold its value already by chance, so its
		 * "unchanged" says nothing about the nodes above.
		 */
		update(node);
		kf_rb_update_up(parent, update);
	}
	repair_red(root, node, update);
}

/*
 * Ways through @parent towards @node (NULL: a leaf) have one black node too
 * few. Then the sibling is never a leaf, so that comparing with @node tells
 * the side even if @node is NULL.
 */
static void repair_black(struct kf_rb_root *root, struct kf_rb_node *node,
			 struct kf_rb_node *parent,
			 bool (*update)(struct kf_rb_node *node))
{
	struct kf_rb_node *sibling, *near, *far;
	bool right;

	while (parent && !is_red(node)) {
		right = parent->right == node;
		sibling = *rbtree_child(parent, !right);
		if (is_red(sibling)) {
			lift(root, sibling, update);
			set_black(sibling);
			set_red(parent);
			sibling = *rbtree_child(parent, !right);
		}
		near = *rbtree_child(sibling, right);
		far = *rbtree_child(sibling, !right);
		if (is_red(near) || is_red(far)) {
			if (!is_red(far)) {
				lift(root, near, update);
				far = sibling;
				sibling = near;
			}
			lift(root, sibling, update);
			sibling->parent_color &= ~BLACK;
			sibling->parent_color |= parent->parent_color & BLACK;
			set_black(parent);
			set_black(far);
			return;
		}
		set_red(sibling);
		node = parent;
		parent = kf_rb_parent(node);
	}
	if (node)
		set_black(node);
}

/* Put @heir, which is in no other place any more, in the place of @node. */
static void inherit(struct kf_rb_root *root, struct kf_rb_node *node,
		    struct kf_rb_node *heir)
{
	*heir = *node;
	set_parent(heir->left, heir);
	if (heir->right)
		set_parent(heir->right, heir);
	replace_below(root, kf_rb_parent(node), node, heir);
}

void kf_rb_erase(struct kf_rb_root *root, struct kf_rb_node *node,
		 bool (*update)(struct kf_rb_node *node))
{
	struct kf_rb_node *leaving = node;
	struct kf_rb_node *parent, *orphan;
	bool was_black;

	/* With two children it is the next node's place that vanishes. */
	if (node->left && node->right)
		leaving = kf_rb_next(node);

	orphan = leaving->left ? leaving->left : leaving->right;
	parent = kf_rb_parent(leaving);
	was_black = leaving->parent_color & BLACK;
	replace_below(root, parent, leaving, orphan);
	if (orphan)
		set_parent(orphan, parent);

	if (leaving != node) {
		inherit(root, node, leaving);
		if (parent == node)
			parent = leaving;
	}
	if (update) {
		kf_rb_update_up(parent, update);
		/*
		 * The heir's value was of another place: going up may have
		 * stopped below it, or at it by chance.
		 */
		if (leaving != node) {
			update(leaving);
			kf_rb_update_up(kf_rb_parent(leaving), update);
		}
	}
	if (was_black)
		repair_black(root, orphan, parent, update);
}

struct kf_rb_node *kf_rb_first(const struct kf_rb_root *root)
{
	struct kf_rb_node *node = root->node;

	while (node && node->left)
		node = node->left;
	return node;
}

struct kf_rb_node *kf_rb_last(const struct kf_rb_root *root)
{
	struct kf_rb_node *node = root->node;

	while (node && node->right)
		node = node->right;
	return node;
}

struct kf_rb_node *kf_rb_next(const struct kf_rb_node *node)
{
	struct kf_rb_node *parent;

	if (node->right)
		return kf_rb_first(&(struct kf_rb_root){node->right});
	while ((parent = kf_rb_parent(node)) && parent->right == node)
		node = parent;
	return parent;
}

struct kf_rb_node *kf_rb_prev(const struct kf_rb_node *node)
{
	struct kf_rb_node *parent;

	if (node->left)
		return kf_rb_last(&(struct kf_rb_root){node->left});
	while ((parent = kf_rb_parent(node)) && parent->left == node)
		node = parent;
	return parent;
}
