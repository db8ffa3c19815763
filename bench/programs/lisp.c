/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lisp: cons cells, shared tails and a collector that sweeps.
 *
 * Stands for interpreters: all N queens on a board, the partial boards as
 * lists that share their tails, a cell of each list a block of its own. When
 * enough cells were made, those that no list reaches any more are freed in one
 * sweep, scattered over the heap. Stressed: one small size, freed in bulk in
 * another order than it was allocated, and the speed of cells that lie where
 * the allocator put them.
 *
 * After the Lisp interpreters (li, xlisp) that studies of allocators use since
 * B. Zorn and D. Grunwald, "Empirical Measurements of Six Allocation-intensive
 * C Programs", 1992.
 */
#include "bench/programs/common.h"

#include <stdbool.h>

static uint64_t queens = 9;
static uint64_t rounds = 10;
static uint64_t sweep_after = 20000;

static const struct bench_arg args[] = {
	{"QUEENS", &queens, 4, 12},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"SWEEP", &sweep_after, 1, 1ULL << 40},
};

static const uint64_t solutions[] = {
	[4] = 2,   [5] = 10,   [6] = 4,	    [7] = 40,	  [8] = 92,
	[9] = 352, [10] = 724, [11] = 2680, [12] = 14200,
};

/* car is a list or a number that was shifted left and has bit 0 set. */
struct cell {
	struct cell *car;
	struct cell *cdr;
	struct cell *older;
	bool reached;
};

static struct cell *newest;
static uint64_t made;

static struct cell *number(uint64_t value)
{
	return (struct cell *)(uintptr_t)(value * 2 + 1);
}

static bool is_number(const struct cell *cell)
{
	return (uintptr_t)cell & 1;
}

static struct cell *cons(struct cell *car, struct cell *cdr)
{
	struct cell *cell = bench_got(malloc(sizeof(*cell)), sizeof(*cell));

	cell->car = car;
	cell->cdr = cdr;
	cell->older = newest;
	cell->reached = false;
	newest = cell;
	made++;
	return cell;
}

static void reach(struct cell *cell)
{
	for (; cell && !is_number(cell) && !cell->reached; cell = cell->cdr) {
		cell->reached = true;
		reach(cell->car);
	}
}

static void sweep(void)
{
	struct cell **link = &newest;

	while (*link) {
		struct cell *cell = *link;

		if (cell->reached) {
			cell->reached = false;
			link = &cell->older;
		} else {
			*link = cell->older;
			free(cell);
		}
	}
	made = 0;
}

static bool safe(const struct cell *board, uint64_t column)
{
	uint64_t distance = 1;

	for (; board; board = board->cdr, distance++) {
		uint64_t other = (uintptr_t)board->car / 2;

		if (other == column || other + distance == column ||
		    other == column + distance)
			return false;
	}
	return true;
}

/* A list of all boards with one queen more than those of the list given. */
static struct cell *next_row(struct cell *boards)
{
	struct cell *longer = NULL;
	uint64_t column;

	for (; boards; boards = boards->cdr) {
		for (column = 1; column <= queens; column++)
			if (safe(boards->car, column))
				longer = cons(cons(number(column), boards->car),
					      longer);
		if (made < sweep_after)
			continue;
		reach(boards);
		reach(longer);
		sweep();
	}
	return longer;
}

int main(int argc, char **argv)
{
	uint64_t round, row, found;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	for (round = 0; round < rounds; round++) {
		struct cell *boards = cons(NULL, NULL);

		for (row = 0; row < queens; row++)
			boards = next_row(boards);
		for (found = 0; boards; boards = boards->cdr)
			found++;
		if (found != solutions[queens])
			bench_fail("a wrong number of boards", found);
		sweep();
	}
	return 0;
}
