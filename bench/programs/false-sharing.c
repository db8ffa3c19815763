/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * false-sharing: do threads get blocks on one cache line?
 *
 * Stands for threads that each write a small object of their own, over and
 * over. thrash (HANDED 0): each thread allocates, writes and frees its object.
 * scratch (HANDED 1): the first objects were allocated side by side by the
 * main thread and are freed by the others; an allocator that gives them out
 * again where they lie lets two threads write to one line for ever. Stressed:
 * who gets a block that another thread freed.
 *
 * After cache-thrash and cache-scratch in E. Berger et al., "Hoard: A Scalable
 * Memory Allocator for Multithreaded Applications", ASPLOS 2000.
 */
#include "bench/programs/common.h"

static uint64_t handed = 0;
static uint64_t nr_threads = 1;
static uint64_t loops = 100000;
static uint64_t writes = 1000;
static uint64_t bytes = 8;

static const struct bench_arg args[] = {
	{"HANDED", &handed, 0, 1},
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"LOOPS", &loops, 1, 1ULL << 40},
	{"WRITES", &writes, 1, 1ULL << 40},
	{"BYTES", &bytes, 8, 4096},
};

static void *first[BENCH_MAX_THREADS];

static void run(struct bench_thread *self)
{
	uint64_t loop, i;

	if (handed)
		bench_free(first[self->index]);
	/* The whole work is the same however many share it. */
	for (loop = self->index; loop < loops; loop += nr_threads) {
		volatile unsigned char *object = bench_malloc(bytes);

		for (i = 0; i < writes; i++)
			object[i % bytes]++;
		if (object[0] !=
		    (unsigned char)(bench_word((void *)object, bytes) +
				    (writes + bytes - 1) / bytes))
			bench_fail("an object lost a write in loop", loop);
		free((void *)object);
	}
}

int main(int argc, char **argv)
{
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	if (handed)
		for (i = 0; i < nr_threads; i++)
			first[i] = bench_malloc(bytes);
	bench_threads(nr_threads, run);
	return 0;
}
