/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PROGRAM [-n NEIGHBOURS] [-s SEED] [-l LAST] FILE...: gives a fuzzer each file
 * as it is, and then as many neighbours of them: inputs that differ by a few
 * bytes, by chance that the seed decides. This is no search, as libFuzzer's
 * is; it holds what such a search has found.
 *
 * The file LAST always has the input that is being tried.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/chance.h"
#include "tests/fuzz/fuzz.h"

struct input {
	uint8_t *bytes;
	size_t size;
};

static struct input *inputs;
static size_t nr_inputs;
static uint64_t state; /* of chance_next() */
static const char *last_path;
static uint8_t *last; /* the whole of LAST, shared */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void load(const char *path)
{
	FILE *file = fopen(path, "re");
	struct input in = {malloc(FUZZ_MOST), 0};

	inputs = realloc(inputs, (nr_inputs + 1) * sizeof(*inputs));
	if (!file || !in.bytes || !inputs)
		die(path);
	in.size = fread(in.bytes, 1, FUZZ_MOST, file);
	fclose(file);
	inputs[nr_inputs++] = in;
}

static void open_last(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, FUZZ_MOST))
		die(path);
	last = mmap(NULL, FUZZ_MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (last == MAP_FAILED)
		die(path);
	close(fd);
	last_path = path;
}

/* A copy of exactly its size, so that a byte too far is seen. */
static void try(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		die("malloc");
	memcpy(copy, bytes, size);
	if (last) {
		memset(last, 0, FUZZ_MOST);
		memcpy(last, bytes, size);
	}
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* Bytes of @from over, or instead of, what @to has at some place. */
static size_t put_over(uint8_t *to, size_t size, const struct input *from)
{
	size_t at = size ? chance_below(&state, size + 1) : 0;
	size_t begin = from->size ? chance_below(&state, from->size) : 0;
	size_t nr = from->size - begin;

	nr = nr < FUZZ_MOST - at ? nr : FUZZ_MOST - at;
	nr = nr ? chance_below(&state, nr + 1) : 0;
	memcpy(to + at, from->bytes + begin, nr);
	return at + nr > size || chance_below(&state, 2) ? at + nr : size;
}

static size_t remove_some(uint8_t *to, size_t size)
{
	size_t at = chance_below(&state, size);
	size_t nr = 1 + chance_below(&state, size - at);

	memmove(to + at, to + at + nr, size - at - nr);
	return size - nr;
}

/* A byte, or a number of eight, becomes another of those that do harm. */
static void change(uint8_t *to, size_t size)
{
	static const uint64_t numbers[] = {0,	      1,	  UINT32_MAX,
					   INT32_MAX, UINT64_MAX, INT64_MAX,
					   4096,      1ULL << 32};
	uint64_t n = numbers[chance_below(&state, 8)];
	size_t at = chance_below(&state, size);
	size_t bytes = (size_t)1 << chance_below(&state, 4);

	if (chance_below(&state, 2)) {
		to[at] = (uint8_t)chance_next(&state);
		return;
	}
	memcpy(to + at, &n, bytes < size - at ? bytes : size - at);
}

static size_t mutate(uint8_t *to, size_t size)
{
	unsigned int nr = 1 + (unsigned int)chance_below(&state, 4);

	while (nr--) {
		uint64_t way = chance_below(&state, 8);

		if (way == 0 || !size)
			size = put_over(
				to, size,
				&inputs[chance_below(&state, nr_inputs)]);
		else if (way == 1)
			size = remove_some(to, size);
		else
			change(to, size);
	}
	return size;
}

static void try_neighbours(unsigned long nr)
{
	static uint8_t bytes[FUZZ_MOST];

	while (nr--) {
		const struct input *in =
			&inputs[chance_below(&state, nr_inputs)];

		memcpy(bytes, in->bytes, in->size);
		try(bytes, mutate(bytes, in->size));
	}
}

int main(int argc, char **argv)
{
	unsigned long nr = 0;
	int key;

	while ((key = getopt(argc, argv, "n:s:l:")) != -1) {
		if (key == 'n')
			nr = strtoul(optarg, NULL, 10);
		else if (key == 's')
			state = strtoull(optarg, NULL, 10);
		else if (key == 'l')
			open_last(optarg);
		else
			return 2;
	}
	while (optind < argc)
		load(argv[optind++]);
	if (!nr_inputs) {
		fprintf(stderr, "fuzz: no inputs\n");
		return 2;
	}
	for (size_t i = 0; i < nr_inputs; i++)
		try(inputs[i].bytes, inputs[i].size);
	try_neighbours(nr);
	for (size_t i = 0; i < nr_inputs; i++)
		free(inputs[i].bytes);
	free(inputs);
	if (last_path)
		unlink(last_path);
	printf("%zu inputs and %lu neighbours tried\n", nr_inputs, nr);
	return 0;
}
