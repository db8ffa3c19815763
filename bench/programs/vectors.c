/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vectors: arrays that grow by realloc, one alone or many in turn.
 *
 * Stands for lists and string builders that do not know their length: each
 * goes from START bytes to END, by PERCENT of its length and STEP bytes a time,
 * is filled, and starts again. Stressed: growing in place, copying, moving of
 * pages by the kernel.
 *
 * After the many complaints of realloc that copies; every suite has its own.
 */
#include "bench/programs/common.h"

#include <string.h>

static uint64_t nr_threads = 1;
static uint64_t rounds = 10;
static uint64_t nr_vectors = 1;
static uint64_t start = 16;
static uint64_t end = 1 << 24;
static uint64_t percent = 50;
static uint64_t step = 16;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"ROUNDS", &rounds, 1, 1ULL << 40},
	{"VECTORS", &nr_vectors, 1, 1 << 20},
	{"START", &start, 8, 1 << 30},
	{"END", &end, 8, 1ULL << 40},
	{"PERCENT", &percent, 0, 1000},
	{"STEP", &step, 1, 1 << 30},
};

struct vector {
	unsigned char *bytes;
	size_t length;
};

static unsigned char content(size_t at)
{
	return (unsigned char)((at >> 12) * 7 + 1);
}

static void grow(struct vector *vector, size_t length, uint64_t *chance)
{
	unsigned char *bytes =
		bench_got(realloc(vector->bytes, length), length);
	size_t at = vector->length;

	if (at) {
		size_t old = bench_below(chance, at);

		if (bytes[old] != content(old) ||
		    bytes[at - 1] != content(at - 1))
			bench_fail("a vector lost byte", old);
	}
	while (at < length) {
		size_t part = 4096 - at % 4096;

		if (part > length - at)
			part = length - at;
		memset(bytes + at, content(at), part);
		at += part;
	}
	vector->bytes = bytes;
	vector->length = length;
}

static void run(struct bench_thread *self)
{
	struct vector *vectors = bench_table(nr_vectors, sizeof(*vectors));
	uint64_t round, i;

	for (round = 0; round < rounds; round++) {
		size_t length = start;

		for (; length <= end; length += length * percent / 100 + step)
			for (i = 0; i < nr_vectors; i++)
				grow(&vectors[i], length, &self->chance);
		for (i = 0; i < nr_vectors; i++) {
			free(vectors[i].bytes);
			vectors[i] = (struct vector){NULL, 0};
		}
	}
	free(vectors);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("lengths", start, end);
	bench_threads(nr_threads, run);
	return 0;
}
