/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * short-threads: threads that live for a few blocks.
 *
 * Stands for programs that start a thread for each task: some are started
 * together, each allocates a little, frees most of it, and ends; what it left
 * is freed by the next of its place. Stressed: the first malloc of a thread,
 * what a thread leaves behind, and memory that grows with the number of
 * threads there ever were.
 *
 * After the complaint, common to trackers of allocators, of memory that ended
 * threads keep.
 */
#include "bench/programs/common.h"

#define LEFT 8

static uint64_t at_once = 2;
static uint64_t nr_threads = 20000;
static uint64_t nr_blocks = 100;
static uint64_t max_bytes = 1024;

static const struct bench_arg args[] = {
	{"AT_ONCE", &at_once, 2, BENCH_MAX_THREADS},
	{"THREADS", &nr_threads, 2, 1ULL << 40},
	{"BLOCKS", &nr_blocks, LEFT, 10000},
	{"MAX", &max_bytes, 16, 1 << 20},
};

static void *left[BENCH_MAX_THREADS][LEFT];
static uint64_t wave;

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	uint64_t i;

	self->chance += wave;
	for (i = 0; i < nr_blocks; i++)
		blocks[i] = bench_malloc(
			bench_skewed(&self->chance, 16, max_bytes));
	for (i = 0; i < LEFT; i++) {
		if (left[self->index][i])
			bench_free(left[self->index][i]);
		left[self->index][i] = blocks[i];
	}
	for (i = LEFT; i < nr_blocks; i++)
		bench_free(blocks[i]);
	free(blocks);
}

int main(int argc, char **argv)
{
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	for (wave = 0; wave < nr_threads / at_once; wave++)
		bench_threads(at_once, run);
	for (i = 0; i < at_once * LEFT; i++)
		if (left[i / LEFT][i % LEFT])
			bench_free(left[i / LEFT][i % LEFT]);
	return 0;
}
