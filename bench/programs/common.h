/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the benchmark programs share: numbers by chance, arguments, threads
 * that start together, and blocks that are written and looked at.
 *
 * A program does a fixed amount of work, the same under every allocator, and
 * ends with 0 and prints nothing, or with 1 and one line where a block did not
 * hold what was written, or with 2 and one line for a wrong argument.
 */
#ifndef KF_BENCH_COMMON_H
#define KF_BENCH_COMMON_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_MAX_THREADS 256

/* One argument on the command line; the value set before is the default. */
struct bench_arg {
	const char *name;
	uint64_t *value;
	uint64_t min;
	uint64_t max;
};

/* A thread that bench_threads() started. */
struct bench_thread {
	unsigned int index;
	uint64_t chance;
};

/* Blocks of bench_malloc() on their way to the thread that frees them. */
#define BENCH_PARCEL 200

struct bench_parcel {
	struct bench_parcel *next;
	void *blocks[BENCH_PARCEL];
};

/* A list of pointers with a lock: what threads hand to each other. */
struct bench_queue;

/**
 * bench_args() - read the command line
 * @argc:	of main()
 * @argv:	of main()
 * @args:	in their order; those left out keep their defaults
 * @nr:		how many
 *
 * Ends the program with 2 if there are too many or one is no number from @min
 * to @max.
 *
 * Context: main(), before any thread.
 */
void bench_args(int argc, char **argv, const struct bench_arg *args, size_t nr);

/**
 * bench_range() - hold two arguments in order
 * @name:	what they are a range of
 * @min:	its lower end
 * @max:	its upper end
 *
 * Ends the program with 2 unless @min is at most @max.
 *
 * Context: main(), after bench_args().
 */
void bench_range(const char *name, uint64_t min, uint64_t max);

/**
 * bench_fail() - end the program with 1
 * @what:	what is wrong, in a line
 * @number:	the number that goes with it
 *
 * Context: any thread.
 */
void bench_fail(const char *what, uint64_t number)
	__attribute__((noreturn, cold));

/**
 * bench_threads() - run a function in some threads and wait for them
 * @nr:		how many; a single one is the calling thread itself, so that a
 *		program without threads stays one
 * @run:	begins when all of the threads are there
 *
 * Context: main().
 */
void bench_threads(unsigned int nr, void (*run)(struct bench_thread *self));

/**
 * bench_detach() - run a function in a thread that nobody waits for
 * @run:	what to run
 * @argument:	handed to it
 *
 * Context: any thread.
 */
void bench_detach(void *(*run)(void *argument), void *argument);

/**
 * bench_queue_new() - make an empty queue
 * @capacity:	pointers that fit, not 0
 *
 * Context: any thread.
 * Return: the queue; it lives as long as the program.
 */
struct bench_queue *bench_queue_new(size_t capacity);

/**
 * bench_queue_put() - hand a pointer on, when there is room
 * @queue:	where
 * @pointer:	what
 *
 * Context: any thread; waits for bench_queue_take().
 */
void bench_queue_put(struct bench_queue *queue, void *pointer);

/**
 * bench_queue_take() - take the oldest pointer, when there is one
 * @queue:	where
 *
 * Context: any thread; waits for bench_queue_put().
 * Return: the pointer, the caller's now.
 */
void *bench_queue_take(struct bench_queue *queue);

/**
 * bench_parcel_new() - make an empty parcel
 *
 * Context: any thread.
 * Return: the parcel, to be filled and sent.
 */
struct bench_parcel *bench_parcel_new(void);

/**
 * bench_send() - give a full parcel to a thread
 * @parcel:	the receiver's from now on
 * @to:		index of the thread
 *
 * Context: any thread; never waits.
 */
void bench_send(struct bench_parcel *parcel, unsigned int to);

/**
 * bench_receive() - free the parcels that came, and the blocks in them
 * @index:	of the calling thread
 *
 * Context: any thread; never waits.
 */
void bench_receive(unsigned int index);

/**
 * bench_now() - the time
 *
 * Context: any thread.
 * Return: seconds since some moment.
 */
double bench_now(void);

/**
 * bench_resident() - memory that the process has
 *
 * Context: any thread. Allocates nothing.
 * Return: bytes, less what file pages (programs, libraries) take.
 */
uint64_t bench_resident(void);

/* The next number of a sequence, 64 bits: splitmix64, good from any seed on. */
static inline uint64_t bench_chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* 0 to limit - 1, for a limit of at most 32 bits: no division. */
static inline uint64_t bench_below(uint64_t *state, uint64_t limit)
{
	return ((bench_chance(state) >> 32) * limit) >> 32;
}

static inline size_t bench_between(uint64_t *state, uint64_t min, uint64_t max)
{
	return min + bench_below(state, max - min + 1);
}

/*
 * A size from min to max where each doubling is half as likely as the one
 * before: many small, few large, as in most programs.
 */
static inline size_t bench_skewed(uint64_t *state, uint64_t min, uint64_t max)
{
	uint64_t bits = bench_chance(state) | (1ULL << 63);
	uint64_t low = min << __builtin_ctzll(bits);

	if (low >= max || low < min)
		low = min;
	return bench_between(state, low, low * 2 < max ? low * 2 : max);
}

/* What a block holds at a distance from its start; never 0. */
static inline unsigned char bench_byte(const void *block, size_t at)
{
	return (unsigned char)(((uintptr_t)block >> 4) + (at >> 3)) | 1;
}

static inline uint64_t bench_word(const void *block, size_t bytes)
{
	return bytes ^ ((uint64_t)(uintptr_t)block << 24);
}

/* A byte in each cache line of a small block, in each page of a large one. */
static inline size_t bench_stride(size_t bytes)
{
	return bytes <= 8192 ? 64 : 4096;
}

/* Write a block of at least 8 bytes: its length, and what its address says. */
static inline void bench_stamp(void *block, size_t bytes)
{
	volatile unsigned char *byte = (volatile unsigned char *)block;
	size_t stride = bench_stride(bytes);
	size_t at;

	*(volatile uint64_t *)block = bench_word(block, bytes);
	for (at = stride; at < bytes; at += stride)
		byte[at] = bench_byte(block, at);
	if (bytes > 8)
		byte[bytes - 1] = bench_byte(block, bytes - 1);
}

/* The length of a block that still holds what bench_stamp() wrote. */
static inline size_t bench_check(const void *block)
{
	const volatile unsigned char *byte =
		(const volatile unsigned char *)block;
	size_t bytes = bench_word(block, *(const volatile uint64_t *)block);
	size_t stride = bench_stride(bytes);
	size_t at;

	if (bytes < 8 || bytes >> 40)
		bench_fail("a block's first word was overwritten", bytes);
	for (at = stride; at < bytes - 1; at += stride)
		if (byte[at] != bench_byte(block, at))
			bench_fail("a block was overwritten at byte", at);
	if (bytes > 8 && byte[bytes - 1] != bench_byte(block, bytes - 1))
		bench_fail("a block's end was overwritten, of bytes", bytes);
	return bytes;
}

static inline void *bench_got(void *block, size_t bytes)
{
	if (!block)
		bench_fail("no memory for bytes", bytes);
	return block;
}

/* malloc and free of a block of at least 8 bytes that is used, too. */
static inline void *bench_malloc(size_t bytes)
{
	void *block = bench_got(malloc(bytes), bytes);

	bench_stamp(block, bytes);
	return block;
}

static inline void bench_free(void *block)
{
	bench_check(block);
	free(block);
}

/* A table for the program itself, all zero. */
static inline void *bench_table(size_t nr, size_t bytes)
{
	return bench_got(calloc(nr, bytes), nr * bytes);
}

/* Fisher and Yates' shuffle. */
static inline void bench_shuffle(void **blocks, uint64_t nr, uint64_t *chance)
{
	uint64_t i;

	for (i = nr; i > 1; i--) {
		uint64_t other = bench_below(chance, i);
		void *block = blocks[i - 1];

		blocks[i - 1] = blocks[other];
		blocks[other] = block;
	}
}

#ifdef __cplusplus
}
#endif

#endif
