/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * longrun: replacement of blocks for as long as a server runs.
 *
 * Stands for programs that are up for weeks: threads replace random blocks of
 * one table, so that a block is freed by any thread; sizes from MIN to MAX,
 * each doubling half as frequent. Each INTERVAL operations a line tells
 *
 *	operations, live bytes, held bytes, live / held
 *
 * where held is the memory that the process has beyond what it had before the
 * first block. A quotient that falls with time is fragmentation. With an
 * INTERVAL of 0 it is silent.
 *
 * After the argument of P. Larson and M. Krishnan, ISMM 1998, that allocators
 * have to be looked at after many replacements, not at the start.
 */
#include "bench/programs/common.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

static uint64_t nr_threads = 2;
static uint64_t operations = 100000000;
static uint64_t nr_blocks = 200000;
static uint64_t interval = 10000000;
static uint64_t min_bytes = 16;
static uint64_t max_bytes = 4000;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"BLOCKS", &nr_blocks, 1, 1 << 28},
	{"INTERVAL", &interval, 0, 1ULL << 40},
	{"MIN", &min_bytes, 8, 1 << 20},
	{"MAX", &max_bytes, 8, 1 << 20},
};

static _Atomic(void *) *blocks;
static uint64_t resident_before;

/* What a thread allocated less what it freed; written by the thread alone. */
static struct count {
	_Alignas(64) _Atomic int64_t live;
	_Atomic uint64_t done;
} counts[BENCH_MAX_THREADS];

static void replace(struct count *count, uint64_t *chance)
{
	size_t bytes = bench_skewed(chance, min_bytes, max_bytes);
	void *block = bench_malloc(bytes);
	int64_t more = (int64_t)bytes;

	block = atomic_exchange(&blocks[bench_below(chance, nr_blocks)], block);
	if (block) {
		more -= (int64_t)bench_check(block);
		free(block);
	}
	atomic_store_explicit(&count->live, count->live + more,
			      memory_order_relaxed);
	atomic_store_explicit(&count->done, count->done + 1,
			      memory_order_relaxed);
}

static void report(void)
{
	uint64_t held = bench_resident() - resident_before;
	uint64_t done = 0;
	int64_t live = 0;
	unsigned int i;

	for (i = 0; i < nr_threads; i++) {
		live += atomic_load(&counts[i].live);
		done += atomic_load(&counts[i].done);
	}
	if (!held)
		bench_fail("no memory is held after operations", done);
	printf("%" PRIu64 " %" PRId64 " %" PRIu64 " %.4f\n", done, live, held,
	       (double)live / (double)held);
	fflush(stdout);
}

/* The first thread tells what all have done when it has done its share. */
static void run(struct bench_thread *self)
{
	struct count *count = &counts[self->index];
	uint64_t each = interval / nr_threads;
	uint64_t until_report = each;
	uint64_t left = operations / nr_threads;

	for (; left; left--) {
		replace(count, &self->chance);
		if (self->index || !each || --until_report)
			continue;
		report();
		until_report = each;
	}
}

int main(int argc, char **argv)
{
	uint64_t i;

	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes", min_bytes, max_bytes);
	blocks = bench_table(nr_blocks, sizeof(*blocks));
	for (i = 0; i < nr_blocks; i++)
		blocks[i] = NULL;
	resident_before = bench_resident();
	bench_threads(nr_threads, run);
	for (i = 0; i < nr_blocks; i++)
		if (blocks[i])
			bench_free(blocks[i]);
	return 0;
}
