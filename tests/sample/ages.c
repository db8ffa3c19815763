/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ages SECONDS LIFE: allocates so long at sites of known kinds, a round each 5
 * ms, prints "ready", forks at an empty line, and ends with its input.
 *
 *	kept	100 blocks at the start, never freed
 *	leaked	one block a round, never freed
 *	churned	50 blocks a round, freed at once
 *	cached	one block a round, freed after LIFE seconds
 *	handed	one block a round, freed by another thread
 *
 * A function for each. "ready" is followed by the numbers of blocks that each
 * of the last four has allocated, and of live ones of cached.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROUND_NS 5000000
#define MOST 100000
#define BYTES 4096

static struct {
	void *block;
	double born;
} cache[MOST];

static size_t nr_cached, nr_dropped, nr_leaked, nr_churned, nr_handed;
static void *volatile block;
static void *gift;
static sem_t given, taken;

/* No call is the last one, which would leave the function first. */
NOINLINE static void use(void *p)
{
	block = p;
}

NOINLINE static void kept(void)
{
	for (int i = 0; i < 100; i++)
		use(malloc(BYTES));
}

NOINLINE static void leaked(void)
{
	use(malloc(BYTES));
	nr_leaked++;
}

NOINLINE static void churned(void)
{
	for (int i = 0; i < 50; i++) {
		void *p = malloc(BYTES);

		use(p);
		free(p);
		nr_churned++;
	}
}

NOINLINE static void cached(double now, double life)
{
	if (nr_cached == MOST)
		abort();
	cache[nr_cached].block = malloc(BYTES);
	cache[nr_cached++].born = now;
	while (cache[nr_dropped].born < now - life)
		free(cache[nr_dropped++].block);
}

NOINLINE static void handed(void)
{
	gift = malloc(BYTES);
	sem_post(&given);
	sem_wait(&taken);
	nr_handed++;
}

static void *take(void *arg)
{
	for (;;) {
		sem_wait(&given);
		free(gift);
		sem_post(&taken);
	}
	return arg;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void rounds(double length, double life)
{
	const struct timespec pause = {0, ROUND_NS};
	double begin = seconds();

	kept();
	for (double now = begin; now < begin + length; now = seconds()) {
		leaked();
		churned();
		cached(now, life);
		handed();
		nanosleep(&pause, NULL);
	}
}

/* A child frees what its parent cached. */
static void child(void)
{
	while (nr_dropped < nr_cached)
		free(cache[nr_dropped++].block);
	puts("child");
	fflush(stdout);
	getchar();
	_exit(0);
}

int main(int argc, char **argv)
{
	static char in[64], out[256];
	pthread_t thread;

	if (argc < 3)
		return 2;
	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	sem_init(&given, 0, 0);
	sem_init(&taken, 0, 0);
	if (pthread_create(&thread, NULL, take, NULL))
		return 1;
	rounds(strtod(argv[1], NULL), strtod(argv[2], NULL));
	printf("ready %zu %zu %zu %zu %zu\n", nr_leaked, nr_churned, nr_cached,
	       nr_handed, nr_cached - nr_dropped);
	if (getchar() == '\n' && !fork())
		child();
	getchar();
	_exit(0);
}
