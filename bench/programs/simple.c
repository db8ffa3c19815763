/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * simple: blocks of one size, allocated in a row and freed in that order.
 *
 * Stands for the innermost loops of programs: so many blocks, then as many
 * frees, for 25, 100, 400 and 1600 blocks in turn. Stressed: the fast path,
 * and what happens at the ends of a cache that holds fewer blocks than that.
 *
 * After the description of glibc's benchtests bench-malloc-simple.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t bytes = 64;
static uint64_t rounds = 5000;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"BYTES", &bytes, 8, 1 << 20},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
};

static const unsigned int counts[] = {25, 100, 400, 1600};

static void run(struct bench_thread *self)
{
	void *blocks[1600];
	uint64_t round;
	unsigned int i;

	(void)self;
	for (round = 0; round < rounds; round++) {
		unsigned int nr = counts[round % 4];
		unsigned int times = 1600 / nr;

		for (; times; times--) {
			for (i = 0; i < nr; i++)
				blocks[i] = bench_malloc(bytes);
			for (i = 0; i < nr; i++)
				bench_free(blocks[i]);
		}
	}
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_threads(nr_threads, run);
	return 0;
}
