/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * espresso: complements of logic functions, by sets of small sets.
 *
 * Stands for tools that work on formulas: a function is an array of cubes,
 * each a small block; its complement is found by splitting it at a variable,
 * over and over, so that arrays of all lengths and their cubes come and go like
 * a stack does. Stressed: few small sizes and some growing arrays, lifetimes
 * nested in each other.
 *
 * After espresso, a minimizer of logic functions that B. Zorn and D. Grunwald
 * measured in 1992; the recursion is the one R. Brayton et al. describe.
 */
#include "bench/programs/common.h"

#include <stdbool.h>

static uint64_t functions = 10;
static uint64_t variables = 20;
static uint64_t cubes = 40;

static const struct bench_arg args[] = {
	{"FUNCTIONS", &functions, 1, 1 << 20},
	{"VARIABLES", &variables, 4, 64},
	{"CUBES", &cubes, 1, 10000},
};

/* A variable may be true where its bit is set, may be false likewise. */
struct cube {
	uint64_t may_be[2];
};

struct cover {
	struct cube **cubes;
	uint64_t nr;
	uint64_t room;
};

static void add(struct cover *cover, uint64_t may_false, uint64_t may_true)
{
	struct cube *cube = bench_got(malloc(sizeof(*cube)), sizeof(*cube));

	cube->may_be[0] = may_false;
	cube->may_be[1] = may_true;
	if (cover->nr == cover->room) {
		cover->room += cover->room / 2 + 4;
		cover->cubes = bench_got(
			realloc(cover->cubes, cover->room * sizeof(void *)),
			cover->room * sizeof(void *));
	}
	cover->cubes[cover->nr++] = cube;
}

static struct cover *empty(void)
{
	return bench_table(1, sizeof(struct cover));
}

static void drop(struct cover *cover)
{
	while (cover->nr)
		free(cover->cubes[--cover->nr]);
	free(cover->cubes);
	free(cover);
}

/* The part of the function where the variable has the value. */
static struct cover *part(const struct cover *from, int variable, int value)
{
	struct cover *cover = empty();
	uint64_t bit = 1ULL << variable;
	uint64_t i;

	for (i = 0; i < from->nr; i++) {
		const struct cube *cube = from->cubes[i];

		if (cube->may_be[value] & bit)
			add(cover, cube->may_be[0] | bit,
			    cube->may_be[1] | bit);
	}
	return cover;
}

/* The variable that most cubes decide; -1 if some cube decides none. */
static int choose(const struct cover *cover)
{
	unsigned int count[64] = {0};
	unsigned int v;
	int best = 0;
	uint64_t i;

	for (i = 0; i < cover->nr; i++) {
		const struct cube *cube = cover->cubes[i];
		uint64_t decided = ~(cube->may_be[0] & cube->may_be[1]);

		if (!decided)
			return -1;
		for (; decided; decided &= decided - 1)
			count[__builtin_ctzll(decided)]++;
	}
	for (v = 1; v < 64; v++)
		if (count[v] > count[best])
			best = (int)v;
	return best;
}

static struct cover *complement(const struct cover *cover)
{
	struct cover *result = empty();
	int variable, value;
	uint64_t i;

	if (!cover->nr) {
		add(result, ~0ULL, ~0ULL);
		return result;
	}
	variable = choose(cover);
	for (value = 0; variable >= 0 && value < 2; value++) {
		struct cover *half = part(cover, variable, value);
		struct cover *inverse = complement(half);
		uint64_t bit = 1ULL << variable;

		for (i = 0; i < inverse->nr; i++) {
			struct cube *cube = inverse->cubes[i];

			add(result, cube->may_be[0] & ~(value ? bit : 0),
			    cube->may_be[1] & ~(value ? 0 : bit));
		}
		drop(half);
		drop(inverse);
	}
	return result;
}

static bool holds(const struct cover *cover, uint64_t point)
{
	uint64_t i;

	for (i = 0; i < cover->nr; i++)
		if (!(point & ~cover->cubes[i]->may_be[1]) &&
		    !(~point & ~cover->cubes[i]->may_be[0]))
			return true;
	return false;
}

static void solve(uint64_t *chance)
{
	uint64_t used = variables == 64 ? ~0ULL : (1ULL << variables) - 1;
	struct cover *cover = empty();
	struct cover *inverse;
	uint64_t i;

	for (i = 0; i < cubes; i++) {
		uint64_t decided =
			bench_chance(chance) & used & bench_chance(chance);
		uint64_t value = bench_chance(chance);

		add(cover, ~(decided & value), ~(decided & ~value));
	}
	inverse = complement(cover);
	for (i = 0; i < 100; i++) {
		uint64_t point = bench_chance(chance) & used;

		if (holds(cover, point) == holds(inverse, point))
			bench_fail("the complement is wrong at", point);
	}
	drop(cover);
	drop(inverse);
}

int main(int argc, char **argv)
{
	uint64_t chance = 1;
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	for (i = 0; i < functions; i++)
		solve(&chance);
	return 0;
}
