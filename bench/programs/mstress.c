/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mstress: random lifetimes, and blocks that move between threads.
 *
 * Stands for programs with a mix of scratch and kept data: of the blocks a
 * thread allocates some go at once, some at the end of a phase, and now and
 * then one is exchanged for a block in a table that all threads share.
 * Threads end and begin between phases. Stressed: pages that stay alive for a
 * single block, frees of other threads' blocks, now and then a large block.
 *
 * After the description of test-stress in mimalloc-bench, which goes back to
 * stress tests of many allocators.
 */
#include "bench/programs/common.h"

#include <stdatomic.h>

#define NR_SHARED 1000

static uint64_t nr_threads = 1;
static uint64_t phases = 20;
static uint64_t allocations = 200000;
static uint64_t large_bytes = 64 * 1024;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"PHASES", &phases, 1, 1000000},
	{"ALLOCATIONS", &allocations, 100, 1ULL << 30},
	{"LARGE", &large_bytes, 1024, 1 << 24},
};

static _Atomic(void *) shared[NR_SHARED];

/* A stack of blocks: a random one is taken by swapping it with the last. */
struct pile {
	void **blocks;
	uint64_t nr;
};

static void push(struct pile *pile, void *block)
{
	pile->blocks[pile->nr++] = block;
}

static void *take(struct pile *pile, uint64_t *chance)
{
	uint64_t at = bench_below(chance, pile->nr);
	void *block = pile->blocks[at];

	pile->blocks[at] = pile->blocks[--pile->nr];
	return block;
}

static size_t some_size(uint64_t *chance)
{
	uint64_t kind = bench_below(chance, 1000);

	if (kind == 0)
		return bench_between(chance, 1024, large_bytes);
	if (kind < 20)
		return bench_between(chance, 256, 1024);
	return bench_skewed(chance, 8, 256);
}

static void exchange(struct pile *pile, uint64_t *chance)
{
	uint64_t at = bench_below(chance, pile->nr);
	void *theirs = atomic_exchange(&shared[bench_below(chance, NR_SHARED)],
				       pile->blocks[at]);

	if (theirs)
		pile->blocks[at] = theirs;
	else
		pile->blocks[at] = pile->blocks[--pile->nr];
}

static void phase(struct bench_thread *self)
{
	struct pile scratch = {bench_table(allocations, sizeof(void *)), 0};
	struct pile kept = {bench_table(allocations, sizeof(void *)), 0};
	uint64_t *chance = &self->chance;
	uint64_t left = allocations;

	while (left || scratch.nr) {
		uint64_t kind = bench_below(chance, 100);

		if (left && (kind < 50 || !scratch.nr)) {
			push(&scratch, bench_malloc(some_size(chance)));
			left--;
		} else if (kind < 60) {
			exchange(&scratch, chance);
		} else if (kind < 75 && kept.nr < allocations / 5) {
			push(&kept, take(&scratch, chance));
		} else {
			bench_free(take(&scratch, chance));
		}
	}
	while (kept.nr)
		bench_free(take(&kept, chance));
	free(scratch.blocks);
	free(kept.blocks);
}

int main(int argc, char **argv)
{
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	for (i = 0; i < phases; i++)
		bench_threads(nr_threads, phase);
	for (i = 0; i < NR_SHARED; i++)
		if (shared[i])
			bench_free(shared[i]);
	return 0;
}
