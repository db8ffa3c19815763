/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * aligned: blocks from posix_memalign and aligned_alloc.
 *
 * Stands for vector arithmetic, direct input and output, and structures on
 * cache lines of their own: alignments of 16 bytes up to MAX_ALIGNMENT, each
 * half as frequent as the one before, in random replacement. Stressed: what an
 * alignment costs in time and in memory around the block.
 *
 * After the same loop over malloc; no suite is known to ask this question.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t operations = 4000000;
static uint64_t nr_blocks = 1000;
static uint64_t max_alignment = 4096;
static uint64_t max_bytes = 4096;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"MAX_ALIGNMENT", &max_alignment, 16, 1 << 22},
	{"MAX", &max_bytes, 16, 1 << 24},
};

static void *make(uint64_t *chance)
{
	uint64_t alignment = 16;
	size_t bytes = bench_skewed(chance, 16, max_bytes);
	void *block = NULL;

	while (alignment * 2 <= max_alignment && (bench_chance(chance) & 1))
		alignment *= 2;
	/*
	 * An odd size: mimalloc 2.0.9 gives a size that is a power of two
	 * without the alignment, and would have no row.
	 */
	bytes |= 1;
	if (bench_chance(chance) & 1)
		block = aligned_alloc(alignment, bytes);
	else if (posix_memalign(&block, alignment, bytes))
		block = NULL;
	bench_got(block, bytes);
	if ((uintptr_t)block % alignment)
		bench_fail("a block is not aligned to", alignment);
	bench_stamp(block, bytes);
	return block;
}

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	uint64_t i;

	for (i = 0; i < operations; i++) {
		void **block = &blocks[bench_below(&self->chance, nr_blocks)];

		if (*block)
			bench_free(*block);
		*block = make(&self->chance);
	}
	for (i = 0; i < nr_blocks; i++)
		if (blocks[i])
			bench_free(blocks[i]);
	free(blocks);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_threads(nr_threads, run);
	return 0;
}
