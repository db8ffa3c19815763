/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * large: blocks of KiB to MiB in a window, of which a part is used.
 *
 * Stands for buffers: files read, images, messages, arrays of numbers. The
 * oldest or another block of the window is replaced by one of another size,
 * each doubling as frequent as the next, and the first TOUCHED percent of its
 * pages are written. With a window of one it is a loop of malloc and free.
 * Stressed: splitting and merging of pages, and how often the kernel is asked:
 * memory that goes back at once has to be faulted in again.
 *
 * After a pattern common to many suites; the one of 1 to 30 MiB is known from
 * Python and NumPy programs.
 */
#include "bench/programs/common.h"

#include <string.h>

static uint64_t nr_threads = 1;
static uint64_t operations = 20000;
static uint64_t window = 64;
static uint64_t min_kib = 1;
static uint64_t max_kib = 8192;
static uint64_t touched = 25;

static const struct bench_arg args[] = {
	{"THREADS", &nr_threads, 1, BENCH_MAX_THREADS},
	{"OPERATIONS", &operations, 1, 1ULL << 40},
	{"WINDOW", &window, 1, 1 << 20},
	{"MIN_KIB", &min_kib, 1, 1 << 20},
	{"MAX_KIB", &max_kib, 1, 1 << 20},
	{"TOUCHED", &touched, 0, 100},
};

struct buffer {
	unsigned char *bytes;
	size_t used;
};

static size_t some_size(uint64_t *chance)
{
	unsigned int doublings = 0;
	uint64_t low;

	while (min_kib << (doublings + 1) <= max_kib)
		doublings++;
	low = min_kib << bench_below(chance, doublings + 1);
	return bench_between(chance, low << 10,
			     (low * 2 < max_kib ? low * 2 : max_kib) << 10);
}

static void make(struct buffer *buffer, uint64_t *chance)
{
	size_t bytes = some_size(chance);

	buffer->bytes = bench_got(malloc(bytes), bytes);
	buffer->used = bytes * touched / 100;
	if (buffer->used < 64)
		buffer->used = 64;
	memset(buffer->bytes, (int)(buffer->used >> 8), buffer->used);
}

static void drop(struct buffer *buffer, uint64_t *chance)
{
	size_t at = bench_below(chance, buffer->used);
	unsigned char wanted = (unsigned char)(buffer->used >> 8);

	if (!buffer->bytes)
		return;
	if (buffer->bytes[0] != wanted || buffer->bytes[at] != wanted ||
	    buffer->bytes[buffer->used - 1] != wanted)
		bench_fail("a buffer was overwritten, near byte", at);
	free(buffer->bytes);
	buffer->bytes = NULL;
}

static void run(struct bench_thread *self)
{
	struct buffer *buffers = bench_table(window, sizeof(*buffers));
	uint64_t i;

	for (i = 0; i < operations; i++) {
		uint64_t at =
			i % 2 ? i % window : bench_below(&self->chance, window);

		drop(&buffers[at], &self->chance);
		make(&buffers[at], &self->chance);
	}
	for (i = 0; i < window; i++)
		drop(&buffers[i], &self->chance);
	free(buffers);
}

int main(int argc, char **argv)
{
	bench_args(argc, argv, args, sizeof(args) / sizeof(args[0]));
	bench_range("sizes in KiB", min_kib, max_kib);
	bench_threads(nr_threads, run);
	return 0;
}
