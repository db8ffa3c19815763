/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mixed: each thread replaces random blocks of a working set of its own.
 *
 * Stands for programs of no particular kind: sizes from a few bytes to 32 KiB,
 * each doubling half as frequent, no block shared between threads. Stressed:
 * many sizes at a time, and whether threads that have nothing to do with each
 * other get into each other's way.
 *
 * After the description of glibc's benchtests bench-malloc-thread.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t operations = 5000000;
static uint64_t nr_blocks = 1024;
static uint64_t min_bytes = 8;
static uint64_t max_bytes = 32768;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
};

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	uint64_t i;

	for (i = 0; i < operations; i++) {
		void **block = &blocks[bench_below(&self->chance, nr_blocks)];

		if (*block)
			bench_free(*block);
		*block = bench_malloc(
			bench_skewed(&self->chance, min_bytes, max_bytes));
	}
	for (i = 0; i < nr_blocks; i++)
		if (blocks[i])
			bench_free(blocks[i]);
	free(blocks);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	bench_threads(nr_threads, run);
	return 0;
}
