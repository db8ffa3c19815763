/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rptest: random sizes up to some tens of KiB, with frees in other threads.
 *
 * Stands for engines and tools that keep a working set of blocks of all sizes
 * and work through it in scattered order. Each round a thread replaces a part
 * of its set, steps through it by a stride, and hands the blocks that it takes
 * out to the next thread, which frees them. Stressed: medium sizes, the reuse
 * of pages across sizes, remote frees in bulk.
 *
 * After the description of M. Jansson's rpmalloc-benchmark.
 */
#include "bench/programs/common.h"

#include <pthread.h>

static uint64_t nr_threads = 1;
static uint64_t rounds = 100;
static uint64_t nr_blocks = 10000;
static uint64_t min_bytes = 16;
static uint64_t max_bytes = 8192;
static uint64_t crossed = 1;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, BENCH_PARCEL, 1 << 24},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
	{"CROSSED", &crossed, 0, 1},
};

/* So that no inbox grows by more than a round, whoever runs when. */
static pthread_barrier_t round_end;

/* Small sizes are as frequent as large ones, but not more: a linear mix. */
static size_t some_size(uint64_t *chance)
{
	if (bench_below(chance, 4))
		return bench_skewed(chance, min_bytes, max_bytes);
	return bench_between(chance, min_bytes, max_bytes);
}

/* Every third block of the set goes, here or in the next thread. */
static void replace(void **blocks, struct bench_thread *self)
{
	unsigned int to = (self->index + crossed) % nr_threads;
	uint64_t at = bench_below(&self->chance, nr_blocks);
	uint64_t left = nr_blocks / 3 / BENCH_PARCEL * BENCH_PARCEL;

	while (left) {
		struct bench_parcel *parcel = bench_parcel_new();
		int i;

		for (i = 0; i < BENCH_PARCEL; i++, left--) {
			at = (at + 7919) % nr_blocks;
			parcel->blocks[i] = blocks[at];
			blocks[at] = bench_malloc(some_size(&self->chance));
		}
		bench_send(parcel, to);
	}
}

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	uint64_t i;

	for (i = 0; i < nr_blocks; i++)
		blocks[i] = bench_malloc(some_size(&self->chance));
	for (i = 0; i < rounds; i++) {
		replace(blocks, self);
		pthread_barrier_wait(&round_end);
		bench_receive(self->index);
	}
	for (i = 0; i < nr_blocks; i++)
		bench_free(blocks[i]);
	free(blocks);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	pthread_barrier_init(&round_end, NULL, nr_threads);
	bench_threads(nr_threads, run);
	return 0;
}
