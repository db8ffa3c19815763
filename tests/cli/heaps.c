/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heaps HOW: a program with a heap as it should not be, and one without fault.
 * Says "ready" when it is so, and stays until its standard input ends.
 *
 *	leak		grows on and on
 *	fragment	frees all blocks but one of 64, and has a smaller and a
 *			larger one
 *	cache		frees all blocks
 *	asleep		frees all blocks, which are those of a sleeping thread
 *	bins		has threads with a block of each small size; for a byte
 *			of input calls malloc_trim(), for the next one ends the
 *			threads and calls it again, and says "ready" each time
 *	outside		has pages of its own beside the heap
 *	steady		has what it has
 *	lose		ends at once, and has freed one of 16 blocks
 *	turns		has 10, 30 and 20 MiB of three functions one after the
 *			other, says "ready" and waits for a byte of input each
 *			time, and ends
 *	teeth		allocates all, bit by bit, and frees it, again and again
 */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NR 160000
#define SIZE 250
#define LOST 6000
#define OUTSIDE (64u << 20)
#define LEAK_STEP 20	  /* blocks each millisecond */
#define TOOTH_STEP 400	  /* the same, of a tooth */
#define LEAK_MOST 1200000 /* blocks: it is forgotten, not killed, at last */

#define SMALLER 16 /* bytes, of other classes than the others */
#define LARGER 3000

#define BINS_THREADS 50
#define BINS_SIZE_MAX 1024

#define TURN (256u << 10) /* bytes of a block */

static void *block[NR];

/* Volatile, so that no compiler leaves out a block that nobody uses. */
static void *volatile lost;

static int wait_ms(int ms)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	return poll(&in, 1, ms);
}

static void ready(void)
{
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
}

NOINLINE static void leaky(int nr)
{
	for (int i = 0; i < nr; i++)
		lost = memset(malloc(SIZE), 1, SIZE);
}

NOINLINE static void fill(int from, int to)
{
	for (int i = from; i < to; i++)
		block[i] = memset(malloc(SIZE), 1, SIZE);
}

NOINLINE static void empty(int keep)
{
	for (int i = 0; i < NR; i++)
		if (!keep || i % keep)
			free(block[i]);
}

static pthread_barrier_t filled;

static void *fill_and_sleep(void *unused)
{
	(void)unused;
	fill(0, NR);
	pthread_barrier_wait(&filled);
	pause();
	return NULL;
}

static void fill_asleep(void)
{
	pthread_t thread;

	pthread_barrier_init(&filled, NULL, 2);
	if (pthread_create(&thread, NULL, fill_and_sleep, NULL))
		_exit(1);
	pthread_barrier_wait(&filled);
}

static void *fill_bins_and_sleep(void *unused)
{
	(void)unused;
	for (size_t size = 16; size <= BINS_SIZE_MAX; size += 16)
		lost = memset(malloc(size), 1, size);
	pthread_barrier_wait(&filled);
	pthread_barrier_wait(&filled);
	return NULL;
}

static void wait_for_input(void)
{
	char c;

	if (read(0, &c, 1) != 1)
		_exit(0);
}

static void fill_bins(void)
{
	pthread_t thread[BINS_THREADS];

	pthread_barrier_init(&filled, NULL, BINS_THREADS + 1);
	for (int i = 0; i < BINS_THREADS; i++)
		if (pthread_create(&thread[i], NULL, fill_bins_and_sleep, NULL))
			_exit(1);
	pthread_barrier_wait(&filled);
	ready();
	wait_for_input();
	malloc_trim(0);
	ready();
	wait_for_input();
	pthread_barrier_wait(&filled);
	for (int i = 0; i < BINS_THREADS; i++)
		pthread_join(thread[i], NULL);
	malloc_trim(0);
}

NOINLINE static void map(void)
{
	void *p = mmap(NULL, OUTSIDE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	memset(p, 1, OUTSIDE);
}

static void grow(void)
{
	for (int nr = 0; !wait_ms(1); nr += LEAK_STEP) {
		if (nr < LEAK_MOST)
			leaky(LEAK_STEP);
		if (nr == 0)
			ready();
	}
}

NOINLINE static void lose(void)
{
	fill(0, LOST);
	for (int i = 0; i < LOST; i += 16)
		free(block[i]);
}

static void turn(int nr)
{
	char c;

	ready();
	if (read(0, &c, 1) < 0)
		_exit(1);
	for (int i = 0; i < nr; i++)
		free(block[i]);
}

NOINLINE static void turn_first(void)
{
	for (int i = 0; i < 40; i++)
		block[i] = memset(malloc(TURN), 1, TURN);
	turn(40);
}

NOINLINE static void turn_second(void)
{
	for (int i = 0; i < 120; i++)
		block[i] = memset(malloc(TURN), 1, TURN);
	turn(120);
}

NOINLINE static void turn_third(void)
{
	for (int i = 0; i < 80; i++)
		block[i] = memset(malloc(TURN), 1, TURN);
	turn(80);
}

static void grow_and_shrink(void)
{
	int nr = 0;

	for (; !wait_ms(1); nr += TOOTH_STEP) {
		if (nr == NR) {
			empty(0);
			ready();
			nr = 0;
		}
		fill(nr, nr + TOOTH_STEP);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "leak")) {
		grow();
		return 0;
	}
	if (!strcmp(how, "lose")) {
		lose();
		return 0;
	}
	if (!strcmp(how, "turns")) {
		turn_first();
		turn_second();
		turn_third();
		return 0;
	}
	if (!strcmp(how, "teeth")) {
		grow_and_shrink();
		return 0;
	}
	if (!strcmp(how, "outside"))
		map();
	else if (!strcmp(how, "asleep"))
		fill_asleep();
	else if (!strcmp(how, "bins"))
		fill_bins();
	else
		fill(0, NR);
	if (!strcmp(how, "fragment")) {
		empty(64);
		lost = malloc(SMALLER);
		lost = malloc(LARGER);
	} else if (!strcmp(how, "cache") || !strcmp(how, "asleep"))
		empty(0);
	ready();
	wait_ms(-1);
	return 0;
}
