/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sh8: threads with batches of random sizes, freed in three orders.
 *
 * Stands for server work by transaction: a batch is allocated as a whole and
 * freed as a whole, in the order it came, backwards, or scattered; a part of
 * each batch outlives it by some batches. Stressed: free lists that come back
 * in another order than they left, in several threads at a time.
 *
 * After the published description of MicroQuill's SmartHeap benchmark sh8.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t batches = 2000;
static uint64_t nr_blocks = 2000;
static uint64_t min_bytes = 8;
static uint64_t max_bytes = 4096;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"BATCHES", &batches, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, 16, 1 << 24},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
};

enum order { FORWARDS, BACKWARDS, SCATTERED, NR_ORDERS };

static void end_batch(void **blocks, enum order order, uint64_t *chance)
{
	uint64_t i;

	if (order == SCATTERED)
		bench_shuffle(blocks, nr_blocks, chance);
	for (i = 0; i < nr_blocks; i++)
		bench_free(blocks[order == BACKWARDS ? nr_blocks - 1 - i : i]);
}

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	void **kept = bench_table(nr_blocks, sizeof(void *));
	uint64_t batch, i;

	for (batch = 0; batch < batches; batch++) {
		for (i = 0; i < nr_blocks; i++)
			blocks[i] = bench_malloc(bench_skewed(
				&self->chance, min_bytes, max_bytes));
		/* Each eighth changes places with one of an older batch. */
		for (i = batch % 8; i < nr_blocks; i += 8) {
			void *older = kept[i];

			kept[i] = blocks[i];
			blocks[i] = older ? older : bench_malloc(min_bytes);
		}
		end_batch(blocks, batch % NR_ORDERS, &self->chance);
	}
	for (i = 0; i < nr_blocks; i++)
		if (kept[i])
			bench_free(kept[i]);
	free(blocks);
	free(kept);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	bench_threads(nr_threads, run);
	return 0;
}
