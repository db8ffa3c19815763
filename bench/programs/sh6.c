/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sh6: batches of many sizes, freed oldest first but for some.
 *
 * Stands for programs that build up a document or a message of parts of all
 * sizes and take it down: small sizes in large numbers, large ones in small.
 * The blocks go round a ring; when it is full the older half is freed from
 * the oldest on, but for each eighth, which is freed from the newest back.
 * Stressed: the free lists of many sizes at a time, first in first out.
 *
 * After the published description of MicroQuill's SmartHeap benchmark sh6.
 */
#include "bench/programs/common.h"

static uint64_t nr_threads = 1;
static uint64_t rounds = 200;
static uint64_t min_bytes = 8;
static uint64_t max_bytes = 1000;
static uint64_t ring_blocks = 8192;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
	{"RING", &ring_blocks, 16, 1 << 24},
};

struct ring {
	void **blocks;
	uint64_t nr;
};

static void drop(void **block)
{
	if (*block)
		bench_free(*block);
	*block = NULL;
}

/* Frees the first half of the ring and moves the rest down. */
static void halve(struct ring *ring)
{
	uint64_t half = ring->nr / 2;
	uint64_t i;

	for (i = 0; i < half; i++)
		if (i % 8)
			drop(&ring->blocks[i]);
	for (i = half; i-- > 0;)
		drop(&ring->blocks[i]);
	for (i = half; i < ring->nr; i++)
		ring->blocks[i - half] = ring->blocks[i];
	ring->nr -= half;
}

static void put(struct ring *ring, size_t bytes)
{
	if (ring->nr == ring_blocks)
		halve(ring);
	ring->blocks[ring->nr++] = bench_malloc(bytes);
}

static void run(struct bench_thread *self)
{
	struct ring ring = {bench_table(ring_blocks, sizeof(void *)), 0};
	uint64_t round;

	(void)self;
	for (round = 0; round < rounds; round++) {
		uint64_t bytes;

		for (bytes = min_bytes; bytes <= max_bytes;
		     bytes += 8 + bytes / 16) {
			uint64_t left = max_bytes / bytes * 8 + 1;

			for (; left; left--)
				put(&ring, bytes);
		}
	}
	while (ring.nr)
		bench_free(ring.blocks[--ring.nr]);
	free(ring.blocks);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	bench_threads(nr_threads, run);
	return 0;
}
