/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trees: binary trees that are built and thrown away.
 *
 * Stands for object graphs: one long-lived tree, and beside it many trees of
 * each even depth that live shortly. Stressed: operator new and delete of one
 * small size, millions of times.
 *
 * After H. Boehm's GCBench, by J. Ellis and P. Kovac, as the benchmark game's
 * binary-trees took it up.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t max_depth = 16;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"DEPTH", &max_depth, 4, 28},
};

struct tree {
	tree *left;
	tree *right;

	explicit tree(uint64_t depth)
	    : left(depth ? new tree(depth - 1) : nullptr),
	      right(depth ? new tree(depth - 1) : nullptr)
	{
	}

	~tree()
	{
		delete left;
		delete right;
	}

	tree(const tree &) = delete;
	tree &operator=(const tree &) = delete;

	uint64_t count() const
	{
		return left ? left->count() + right->count() + 1 : 1;
	}
};

static void expect(const tree &root, uint64_t depth)
{
	if (root.count() != (2ULL << depth) - 1)
		bench_fail("a tree lost nodes, of depth", depth);
}

static void run(struct bench_thread *)
{
	tree kept(max_depth);

	for (uint64_t depth = 4; depth <= max_depth; depth += 2) {
		uint64_t nr = 1ULL << (max_depth - depth + 4);

		for (; nr; nr--) {
			tree root(depth);

			expect(root, depth);
		}
	}
	expect(kept, max_depth);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_threads(nr_threads, run);
	return 0;
}
