/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fragment: what is free cannot be used for what comes next.
 *
 * Stands for programs whose phases differ: the heap is filled to LIVE KiB with
 * blocks of one size, then all but KEPT percent of these, at random, are freed,
 * and it is filled again with a larger size, and so on; then it begins again
 * with the smallest. Stressed: giving whole pages from one size to another,
 * peak memory beyond what is live.
 *
 * After the scenario that J. Bonwick calls fragmentation by size, and that
 * "What is malloc fragmentation" texts explain allocators by.
 */
#include "bench/programs/common.h"

static uint64_t rounds = 3;
static uint64_t live_kib = 65536;
static uint64_t kept_percent = 10;
static uint64_t max_bytes = 16384;

static const struct bench_arg args[] = {
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"LIVE_KIB", &live_kib, 64, 1 << 24},
	{"KEPT", &kept_percent, 0, 50},
	{"MAX", &max_bytes, 16, 1 << 20},
};

static void **blocks;
static uint64_t nr_blocks;
static uint64_t live;
static uint64_t chance = 1;

static void fill(size_t bytes)
{
	while (live + bytes <= live_kib << 10) {
		blocks[nr_blocks++] = bench_malloc(bytes);
		live += bytes;
	}
}

static void thin(uint64_t keep)
{
	bench_shuffle(blocks, nr_blocks, &chance);
	while (nr_blocks > keep) {
		void *block = blocks[--nr_blocks];

		live -= bench_check(block);
		free(block);
	}
}

int main(int argc, char **argv)
{
	uint64_t round;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	blocks = bench_table((live_kib << 10) / 16, sizeof(void *));
	for (round = 0; round < rounds; round++) {
		size_t bytes;

		for (bytes = 16; bytes <= max_bytes; bytes += bytes / 2 + 16) {
			fill(bytes);
			thin(nr_blocks * kept_percent / 100);
		}
	}
	thin(0);
	if (live)
		bench_fail("bytes are left", live);
	return 0;
}
