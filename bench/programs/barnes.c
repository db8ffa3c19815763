/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * barnes: bodies that attract each other, by a tree that is built each step.
 *
 * Stands for numeric programs with trees and meshes: a step builds the tree of
 * all bodies, node by node, computes the forces by walking it, and frees it.
 * Most of the time is arithmetic on the nodes. Stressed: whether nodes that
 * were allocated one after the other lie close together.
 *
 * After barnes in the SPLASH suites and in Hoard's; the method is that of
 * J. Barnes and P. Hut, Nature 324, 1986, here in the plane, where the force
 * falls with the distance.
 */
#include "bench/programs/common.h"

static uint64_t nr_bodies = 4000;
static uint64_t steps = 10;

static const struct bench_arg args[] = {
	{"BODIES", &nr_bodies, 2, 1 << 20},
	{"STEPS", &steps, 1, 1ULL << 40},
};

struct body {
	double x, y, vx, vy;
};

/* A square; a leaf has a body and no children. */
struct node {
	double mass, x, y, middle_x, middle_y, half;
	struct body *body;
	struct node *children[4];
};

static struct node *make(double middle_x, double middle_y, double half)
{
	struct node *node = bench_table(1, sizeof(*node));

	node->middle_x = middle_x;
	node->middle_y = middle_y;
	node->half = half;
	return node;
}

static void insert(struct node *node, struct body *body);

static void into_child(struct node *node, struct body *body)
{
	int right = body->x >= node->middle_x;
	int upper = body->y >= node->middle_y;
	struct node **child = &node->children[upper * 2 + right];
	double half = node->half / 2;

	if (!*child)
		*child = make(node->middle_x + (right ? half : -half),
			      node->middle_y + (upper ? half : -half), half);
	insert(*child, body);
}

static void insert(struct node *node, struct body *body)
{
	/* Bodies that are too close to be told apart count as one. */
	if (node->half > 1e-9) {
		if (node->mass > 0)
			into_child(node, body);
		if (node->body)
			into_child(node, node->body);
		node->body = node->mass > 0 ? NULL : body;
	}
	node->x = (node->x * node->mass + body->x) / (node->mass + 1);
	node->y = (node->y * node->mass + body->y) / (node->mass + 1);
	node->mass += 1;
}

static void attract(const struct node *node, struct body *body)
{
	double dx = node->x - body->x;
	double dy = node->y - body->y;
	double square = dx * dx + dy * dy + 1e-6;
	double pull = node->mass / square * 1e-9;
	int i;

	if (node->body || node->half * node->half < square / 4) {
		body->vx += dx * pull;
		body->vy += dy * pull;
		return;
	}
	for (i = 0; i < 4; i++)
		if (node->children[i])
			attract(node->children[i], body);
}

static uint64_t fell(struct node *node)
{
	uint64_t bodies = node->body != NULL;
	int i;

	for (i = 0; i < 4; i++)
		if (node->children[i])
			bodies += fell(node->children[i]);
	free(node);
	return bodies;
}

static void advance(struct body *bodies)
{
	struct node *root = make(0, 0, 4);
	uint64_t i, found;

	for (i = 0; i < nr_bodies; i++)
		insert(root, &bodies[i]);
	for (i = 0; i < nr_bodies; i++)
		attract(root, &bodies[i]);
	for (i = 0; i < nr_bodies; i++) {
		bodies[i].x += bodies[i].vx;
		bodies[i].y += bodies[i].vy;
	}
	found = fell(root);
	if (found > nr_bodies || found < nr_bodies / 2)
		bench_fail("the tree lost bodies, left are", found);
}

int main(int argc, char **argv)
{
	struct body *bodies;
	uint64_t chance = 1;
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bodies = bench_table(nr_bodies, sizeof(*bodies));
	for (i = 0; i < nr_bodies; i++) {
		bodies[i].x = bench_below(&chance, 1 << 20) / 524288.0 - 1;
		bodies[i].y = bench_below(&chance, 1 << 20) / 524288.0 - 1;
	}
	for (i = 0; i < steps; i++)
		advance(bodies);
	free(bodies);
	return 0;
}
