/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * larson: a server whose threads end and hand their blocks on to successors.
 *
 * Stands for servers with a thread for each connection or a pool that is
 * renewed: each thread replaces blocks of an array in random order; when its
 * share is done it starts a thread that goes on with the same array, and ends.
 * So blocks are freed by threads that did not allocate them, whose makers are
 * gone. Stressed: frees of other threads' blocks, heaps of threads that ended,
 * fragmentation by replacement.
 *
 * After the description in P. Larson and M. Krishnan, "Memory Allocation for
 * Long-Running Server Applications", ISMM 1998.
 */
#include "bench/programs/common.h"

#include <semaphore.h>

static uint64_t nr_threads = 1;
static uint64_t generations = 10;
static uint64_t nr_blocks = 1000;
static uint64_t operations = 500000;
static uint64_t min_bytes = 16;
static uint64_t max_bytes = 1024;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"GENERATIONS", &generations, 1, 1000000},
	{"BLOCKS", &nr_blocks, 1, 10000000},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
};

/* What goes from a thread to its successor. */
struct session {
	void **blocks;
	uint64_t chance;
	uint64_t generation;
};

static sem_t ended;

static void *serve(void *argument)
{
	struct session *session = argument;
	uint64_t chance = session->chance;
	uint64_t i;

	for (i = 0; i < operations; i++) {
		void **block =
			&session->blocks[bench_below(&chance, nr_blocks)];

		bench_free(*block);
		*block = bench_malloc(
			bench_between(&chance, min_bytes, max_bytes));
	}
	session->chance = chance;
	if (++session->generation < generations)
		bench_detach(serve, session);
	else
		sem_post(&ended);
	return NULL;
}

int main(int argc, char **argv)
{
	struct session *sessions;
	uint64_t i, j;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	sem_init(&ended, 0, 0);
	sessions = bench_table(nr_threads, sizeof(*sessions));
	for (i = 0; i < nr_threads; i++) {
		struct session *session = &sessions[i];

		session->chance = i + 1;
		session->blocks = bench_table(nr_blocks, sizeof(void *));
		for (j = 0; j < nr_blocks; j++)
			session->blocks[j] = bench_malloc(bench_between(
				&session->chance, min_bytes, max_bytes));
	}
	for (i = 0; i < nr_threads; i++)
		bench_detach(serve, &sessions[i]);
	for (i = 0; i < nr_threads; i++)
		while (sem_wait(&ended))
			;
	for (i = 0; i < nr_threads; i++)
		for (j = 0; j < nr_blocks; j++)
			bench_free(sessions[i].blocks[j]);
	return 0;
}
