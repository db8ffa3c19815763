/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * xmalloc: some threads only allocate, others only free.
 *
 * Stands for pipelines: readers that make messages, workers that use them up.
 * Producers put batches of blocks into a queue, consumers take a batch and
 * free it. At most QUEUE batches wait in the queue: with few, producers and
 * consumers wait for each other, with many the slower side decides how many
 * blocks are live. Stressed: the way a block takes back to the thread it came
 * from, and caches that only fill or only empty.
 *
 * After the description of xmalloc by C. Lever and D. Boreham, "malloc()
 * Performance in a Multithreaded Linux Environment", USENIX 2000, in the
 * asymmetric form that later suites gave it.
 */
#include "bench/programs/common.h"

#define BATCH 128

static uint64_t producers = 1;
static uint64_t consumers = 1;
static uint64_t batches = 40000;
static uint64_t min_bytes = 16;
static uint64_t max_bytes = 512;
static uint64_t queue_batches = 64;

static const struct bench_arg args[] = {
	{"PRODUCERS", &producers, 1, BENCH_MAX_THREADS / 2},
	{"CONSUMERS", &consumers, 1, BENCH_MAX_THREADS / 2},
	{"BATCHES", &batches, 1, 1ULL << 40},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
	{"QUEUE", &queue_batches, 1, 1 << 20},
};

struct batch {
	void *blocks[BATCH];
};

static struct bench_queue *queue;

static uint64_t share(uint64_t whole, uint64_t parts, uint64_t index)
{
	return whole / parts + (index < whole % parts);
}

static void produce(struct bench_thread *self, uint64_t nr)
{
	for (; nr; nr--) {
		struct batch *batch =
			bench_got(malloc(sizeof(*batch)), sizeof(*batch));
		int i;

		for (i = 0; i < BATCH; i++)
			batch->blocks[i] = bench_malloc(bench_skewed(
				&self->chance, min_bytes, max_bytes));
		bench_queue_put(queue, batch);
	}
}

static void consume(uint64_t nr)
{
	for (; nr; nr--) {
		struct batch *batch = bench_queue_take(queue);
		int i;

		for (i = 0; i < BATCH; i++)
			bench_free(batch->blocks[i]);
		free(batch);
	}
}

static void run(struct bench_thread *self)
{
	if (self->index < producers)
		produce(self, share(batches, producers, self->index));
	else
		consume(share(batches, consumers, self->index - producers));
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	queue = bench_queue_new(queue_batches);
	bench_threads(producers + consumers, run);
	return 0;
}
