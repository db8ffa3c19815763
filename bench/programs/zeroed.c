/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * zeroed: blocks from calloc, in random replacement.
 *
 * Stands for tables and records that have to start empty. Each block is looked
 * at before it is written. Stressed: what zeroing costs, and whether pages that
 * come fresh from the kernel are zeroed again.
 *
 * After the description of glibc's benchtests for calloc.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t operations = 5000000;
static uint64_t nr_blocks = 1000;
static uint64_t min_bytes = 16;
static uint64_t max_bytes = 1024;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"MIN", &min_bytes, 8, 1 << 30},
	{"MAX", &max_bytes, 8, 1 << 30},
};

static void *make(uint64_t *chance)
{
	size_t bytes = bench_skewed(chance, min_bytes, max_bytes);
	unsigned char *block = bench_got(calloc(1, bytes), bytes);
	size_t stride = bench_stride(bytes);
	size_t at;

	for (at = 0; at < bytes; at += stride)
		if (block[at])
			bench_fail("calloc gave a block that holds", block[at]);
	if (block[bytes - 1])
		bench_fail("calloc gave a block that ends with",
			   block[bytes - 1]);
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
	bench_range("sizes", min_bytes, max_bytes);
	bench_threads(nr_threads, run);
	return 0;
}
