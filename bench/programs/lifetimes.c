/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lifetimes: few blocks live short, most of a large heap is left alone.
 *
 * Stands for servers with a cache of their own: slots are taken and left in
 * turn, a fifth of them as often as all others together (and so on within each
 * part), so that lifetimes lie over many orders of magnitude; sizes do, too.
 * Stressed: heaps larger than the processor's caches, pages that one old block
 * keeps.
 *
 * After the description of S. Ignatchenko's alloc-test, with its Pareto-like
 * choice of slots and sizes.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t operations = 4000000;
static uint64_t nr_slots = 1 << 18;
static uint64_t max_bytes = 4096;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"SLOTS", &nr_slots, 16, 1 << 28},
	{"MAX", &max_bytes, 16, 1 << 20},
};

/* Half of all choices in the first fifth, and half of these in its first... */
static uint64_t some_slot(uint64_t *chance)
{
	uint64_t width = nr_slots;

	while (width > 16 && (bench_chance(chance) & 1))
		width /= 5;
	return bench_below(chance, width);
}

static void run(struct bench_thread *self)
{
	void **slots = bench_table(nr_slots, sizeof(void *));
	uint64_t i;

	for (i = 0; i < operations; i++) {
		void **slot = &slots[some_slot(&self->chance)];

		if (*slot) {
			bench_free(*slot);
			*slot = NULL;
		} else {
			*slot = bench_malloc(
				bench_skewed(&self->chance, 8, max_bytes));
		}
	}
	for (i = 0; i < nr_slots; i++)
		if (slots[i])
			bench_free(slots[i]);
	free(slots);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_threads(nr_threads, run);
	return 0;
}
