/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/rbtree.c against an array indexed by key.
 *
 * The whole tree is checked after each operation on small trees and from time
 * to time on large ones: order, links, the red-black rules, the height, and
 * augmented values. The greatest weight, alone, is what the page runs keep; it
 * often stays as it was, by chance too, so that it finds updates that stop too
 * early. With the number of members beside it each step changes something up to
 * the root, so that it finds updates that were left out.
 */
#include "base/rbtree.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "tests/unit/unit.h"

#define NR_KEYS 20000
#define NR_OPERATIONS 100000

struct member {
	struct kf_rb_node node;
	unsigned int key;
	unsigned int weight;
	unsigned int greatest; /* weight in the subtree */
	unsigned int nr;       /* members in the subtree */
	bool in_tree;
};

static struct member members[NR_KEYS];
static struct kf_rb_root tree;
static unsigned int nr_in_tree;

static struct member *member_of(const struct kf_rb_node *node)
{
	return kf_container_of(node, struct member, node);
}

static void right_values(const struct member *member, unsigned int *greatest,
			 unsigned int *nr)
{
	const struct kf_rb_node *below[] = {member->node.left,
					    member->node.right};

	*greatest = member->weight;
	*nr = 1;
	for (size_t i = 0; i < KF_ARRAY_SIZE(below); i++) {
		if (!below[i])
			continue;
		*greatest = KF_MAX(*greatest, member_of(below[i])->greatest);
		*nr += member_of(below[i])->nr;
	}
}

typedef bool update_fn(struct kf_rb_node *node);

static bool update_greatest(struct kf_rb_node *node)
{
	struct member *member = member_of(node);
	unsigned int greatest, nr;
	bool changed;

	right_values(member, &greatest, &nr);
	changed = greatest != member->greatest;
	member->greatest = greatest;
	return changed;
}

static bool update_both(struct kf_rb_node *node)
{
	struct member *member = member_of(node);
	unsigned int greatest, nr;
	bool changed;

	right_values(member, &greatest, &nr);
	changed = greatest != member->greatest || nr != member->nr;
	member->greatest = greatest;
	member->nr = nr;
	return changed;
}

static bool is_black(const struct kf_rb_node *node)
{
	return !node || (node->parent_color & 1);
}

/*
 * Check the subtree at @node, whose keys must lie in [@least, @limit).
 * Return: how many black nodes each way down passes.
 */
static unsigned int check_below(struct kf_rb_node *node,
				struct kf_rb_node *parent, unsigned int least,
				unsigned int limit, update_fn *update)
{
	unsigned int greatest, nr, blacks;
	struct member *member;

	if (!node)
		return 0;
	member = member_of(node);
	UNIT_REQUIRE(member->in_tree);
	UNIT_REQUIRE(kf_rb_parent(node) == parent);
	UNIT_REQUIRE(member->key >= least && member->key < limit);
	UNIT_REQUIRE(is_black(node) || (is_black(parent) && parent));

	blacks = check_below(node->left, node, least, member->key, update);
	UNIT_REQUIRE(blacks == check_below(node->right, node, member->key + 1,
					   limit, update));
	right_values(member, &greatest, &nr);
	UNIT_REQUIRE(!update || member->greatest == greatest);
	UNIT_REQUIRE(update != update_both || member->nr == nr);
	return blacks + is_black(node);
}

/* The tree holds just the members that are marked, forwards and backwards. */
static void check_order(void)
{
	struct kf_rb_node *node = kf_rb_first(&tree);

	for (unsigned int key = 0; key < NR_KEYS; key++) {
		if (!members[key].in_tree)
			continue;
		UNIT_REQUIRE(node == &members[key].node);
		node = kf_rb_next(node);
	}
	UNIT_REQUIRE(!node);
	node = kf_rb_last(&tree);
	for (unsigned int key = NR_KEYS; key-- > 0;) {
		if (!members[key].in_tree)
			continue;
		UNIT_REQUIRE(node == &members[key].node);
		node = kf_rb_prev(node);
	}
	UNIT_REQUIRE(!node);
}

static void check_tree(update_fn *update)
{
	unsigned int blacks;

	blacks = check_below(tree.node, NULL, 0, NR_KEYS, update);
	/* With equal black heights this bounds the height at 2 log2(n + 1). */
	UNIT_REQUIRE(blacks <= kf_ilog2(nr_in_tree + 1));
	if (update == update_both)
		UNIT_REQUIRE((tree.node ? member_of(tree.node)->nr : 0) ==
			     nr_in_tree);
}

static void add(struct member *member, update_fn *update)
{
	struct kf_rb_node **link = &tree.node;
	struct kf_rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = member->key < member_of(parent)->key ? &parent->left
							    : &parent->right;
	}
	/* Whatever the links held before is forgotten. */
	memset(&member->node, 0xff, sizeof(member->node));
	kf_rb_insert(&tree, &member->node, parent, link, update);
	member->in_tree = true;
	nr_in_tree++;
}

static void drop(struct member *member, update_fn *update)
{
	kf_rb_erase(&tree, &member->node, update);
	memset(&member->node, 0xff, sizeof(member->node));
	member->in_tree = false;
	nr_in_tree--;
}

/* Stale values stay in the members on purpose: a real run has them too. */
static void step(uint64_t *state, unsigned int nr_keys, update_fn *update)
{
	struct member *member = &members[chance_below(state, nr_keys)];
	unsigned int weight = chance_below(state, 16);

	member->key = (unsigned int)(member - members);
	if (!member->in_tree) {
		member->weight = weight;
		add(member, update);
	} else if (update && chance_below(state, 3) == 0) {
		member->weight = weight;
		kf_rb_update_up(&member->node, update);
	} else {
		drop(member, update);
	}
}

START_TEST(small_augmented_tree_is_right_after_each_operation)
{
	uint64_t state = 3;

	for (int i = 0; i < NR_OPERATIONS; i++) {
		step(&state, 1 + (unsigned int)i * 60 / NR_OPERATIONS,
		     update_both);
		check_tree(update_both);
		if (i % 100 == 0)
			check_order();
	}
}
END_TEST

START_TEST(small_tree_of_maxima_is_right_after_each_operation)
{
	uint64_t state = 7;

	for (int i = 0; i < NR_OPERATIONS; i++) {
		step(&state, 1 + (unsigned int)i * 60 / NR_OPERATIONS,
		     update_greatest);
		check_tree(update_greatest);
	}
}
END_TEST

START_TEST(large_augmented_tree_is_right)
{
	uint64_t state = 4;

	for (int i = 0; i < NR_OPERATIONS; i++) {
		step(&state, NR_KEYS, update_both);
		if (i % 1000 == 0) {
			check_tree(update_both);
			check_order();
		}
	}
	ck_assert_uint_gt(nr_in_tree, NR_KEYS / 4);
	while (tree.node)
		drop(member_of(tree.node), update_both);
	ck_assert_uint_eq(nr_in_tree, 0);
	check_order();
}
END_TEST

START_TEST(tree_without_augmentation_is_right)
{
	uint64_t state = 5;

	for (int i = 0; i < NR_OPERATIONS; i++) {
		step(&state, i % 2 ? NR_KEYS : 40, NULL);
		if (i % 1000 == 0) {
			check_tree(NULL);
			check_order();
		}
	}
}
END_TEST

START_TEST(members_in_order_keep_the_tree_low)
{
	for (unsigned int key = 0; key < NR_KEYS; key++) {
		members[key].key = key;
		members[key].weight = key % 7;
		add(&members[key], update_both);
	}
	check_tree(update_both);
	check_order();
	for (unsigned int key = 0; key < NR_KEYS; key++) {
		drop(&members[key], update_both);
		if (key % 500 == 0)
			check_tree(update_both);
	}
	ck_assert_ptr_null(tree.node);
}
END_TEST

/* All 5! orders of removal from all 5! orders of insertion. */
static unsigned int permute(unsigned int number, unsigned int nr,
			    unsigned int *order)
{
	unsigned int rest[8];

	for (unsigned int i = 0; i < nr; i++)
		rest[i] = i;
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int at = number % (nr - i);

		number /= nr - i;
		order[i] = rest[at];
		memmove(rest + at, rest + at + 1, (nr - i - at - 1) * 4);
	}
	return number;
}

START_TEST(five_members_come_and_go_in_every_order)
{
	unsigned int in[5], out[5];

	for (unsigned int number = 0; number < 120 * 120; number++) {
		permute(permute(number, 5, in), 5, out);
		for (int i = 0; i < 5; i++) {
			members[in[i]].key = in[i];
			members[in[i]].weight = (in[i] * 3 + number) % 5;
			add(&members[in[i]], update_both);
			check_tree(update_both);
		}
		for (int i = 0; i < 5; i++) {
			drop(&members[out[i]], update_both);
			check_tree(update_both);
		}
	}
}
END_TEST

static unsigned int nr_updates;

static bool counting_update(struct kf_rb_node *node)
{
	nr_updates++;
	return update_both(node);
}

START_TEST(update_up_stops_where_nothing_changes)
{
	struct member *first;

	for (unsigned int key = 0; key < 1000; key++) {
		members[key].key = key;
		members[key].weight = key;
		add(&members[key], update_both);
	}
	first = member_of(kf_rb_first(&tree));
	ck_assert_ptr_ne(&first->node, tree.node);
	kf_rb_update_up(&first->node, counting_update);
	ck_assert_uint_eq(nr_updates, 1);

	/* A new maximum goes all the way to the root. */
	first->weight = 5000;
	kf_rb_update_up(&first->node, counting_update);
	check_tree(update_both);
	ck_assert_uint_eq(member_of(tree.node)->greatest, 5000);
}
END_TEST

START_TEST(empty_tree_has_no_first_and_no_last)
{
	ck_assert_ptr_null(kf_rb_first(&tree));
	ck_assert_ptr_null(kf_rb_last(&tree));
	kf_rb_update_up(NULL, update_both);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		empty_tree_has_no_first_and_no_last,
		five_members_come_and_go_in_every_order,
		small_augmented_tree_is_right_after_each_operation,
		small_tree_of_maxima_is_right_after_each_operation,
		large_augmented_tree_is_right,
		tree_without_augmentation_is_right,
		members_in_order_keep_the_tree_low,
		update_up_stops_where_nothing_changes,
	};

	return unit_run("base/rbtree", tests, KF_ARRAY_SIZE(tests));
}
