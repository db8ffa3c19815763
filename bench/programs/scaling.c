/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scaling: the same work, shared by more and more threads.
 *
 * Stands for a program that is moved to a machine with more processors: so
 * many replacements of blocks, split among the threads; CROSSED percent of the
 * blocks are freed by the thread's neighbour, the others where they were
 * allocated. Threads meet each round, so that no more is on the way than the
 * blocks of a round. Stressed: all that threads share. bench/scaling.py sweeps
 * the number of threads and reads what was done under locks.
 *
 * After the scaling tests of Hoard's paper, ASPLOS 2000.
 */
#include "bench/programs/common.h"

#include <pthread.h>

#define ROUNDS 20

static uint64_t nr_threads = 1;
static uint64_t operations = 10000000;
static uint64_t crossed = 50;
static uint64_t nr_blocks = 1000;
static uint64_t max_bytes = 1024;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1000000, 1ULL << 40},
	{"CROSSED", &crossed, 0, 100},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"MAX", &max_bytes, 16, 1 << 20},
};

static pthread_barrier_t round_end;

/* Blocks for the neighbour; a parcel goes when it is full. */
struct outbox {
	struct bench_parcel *parcel;
	unsigned int nr;
	unsigned int to;
};

static void put(struct outbox *outbox, void *block)
{
	if (!outbox->parcel)
		outbox->parcel = bench_parcel_new();
	outbox->parcel->blocks[outbox->nr++] = block;
	if (outbox->nr < BENCH_PARCEL)
		return;
	bench_send(outbox->parcel, outbox->to);
	outbox->parcel = NULL;
	outbox->nr = 0;
}

static void replace(void **block, struct outbox *outbox, uint64_t *chance)
{
	if (*block && bench_below(chance, 100) < crossed)
		put(outbox, *block);
	else if (*block)
		bench_free(*block);
	*block = bench_malloc(bench_skewed(chance, 16, max_bytes));
}

static void run(struct bench_thread *self)
{
	void **blocks = bench_table(nr_blocks, sizeof(void *));
	struct outbox outbox = {NULL, 0, (self->index + 1) % nr_threads};
	uint64_t each = operations / nr_threads / ROUNDS;
	uint64_t round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < each; i++) {
			replace(&blocks[bench_below(&self->chance, nr_blocks)],
				&outbox, &self->chance);
			if (i % 1024 == 0)
				bench_receive(self->index);
		}
		pthread_barrier_wait(&round_end);
		bench_receive(self->index);
	}
	while (outbox.nr)
		bench_free(outbox.parcel->blocks[--outbox.nr]);
	free(outbox.parcel);
	for (i = 0; i < nr_blocks; i++)
		if (blocks[i])
			bench_free(blocks[i]);
	free(blocks);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	pthread_barrier_init(&round_end, NULL, nr_threads);
	bench_threads(nr_threads, run);
	return 0;
}
