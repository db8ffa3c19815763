// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A peak, then hardly anything: takes 200 MB in small and in large blocks,
 * gives all back, and goes on with a little work until the resident size has
 * come down below a share of the peak.
 *
 * Usage: peak PERCENT SECONDS [THREADS]
 *
 * With THREADS the peak is theirs; they end before the little work begins.
 * Status 1: the size was not down after SECONDS.
 */
#include "tests/chance.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PEAK ((size_t)200 << 20)
#define MAX_THREADS 64
#define MAX_BLOCKS 200000

struct work {
	pthread_t thread;
	uint64_t chance;
	size_t bytes;
	pthread_barrier_t *at_peak;
};

static size_t peak;

/* Resident kB, read without stdio: that would allocate. */
static size_t resident(void)
{
	char text[128];
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size = 0, rss = 0;

	if (!f || !fgets(text, sizeof(text), f) ||
	    sscanf(text, "%lu %lu", &size, &rss) != 2) {
		perror("/proc/self/statm");
		exit(1);
	}
	fclose(f);
	return rss * ((size_t)sysconf(_SC_PAGESIZE) >> 10);
}

static void *take(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		perror("malloc");
		exit(1);
	}
	memset(p, 1, bytes);
	return p;
}

/* Half of the bytes in blocks up to 4 KiB, half in blocks up to 1 MiB. */
static size_t some_size(uint64_t *chance, size_t taken, size_t bytes)
{
	if (taken < bytes / 2)
		return 16 + chance_below(chance, 4096 - 16);
	return 4096 + chance_below(chance, (1 << 20) - 4096);
}

static void *climb(void *argument)
{
	struct work *work = argument;
	void **block = calloc(MAX_BLOCKS, sizeof(*block));
	size_t taken = 0, nr = 0;

	if (!block) {
		perror("calloc");
		exit(1);
	}
	while (taken < work->bytes && nr < MAX_BLOCKS) {
		size_t size = some_size(&work->chance, taken, work->bytes);

		block[nr++] = take(size);
		taken += size;
	}
	if (pthread_barrier_wait(work->at_peak) ==
	    PTHREAD_BARRIER_SERIAL_THREAD)
		peak = resident();
	pthread_barrier_wait(work->at_peak);
	while (nr)
		free(block[--nr]);
	free(block);
	return NULL;
}

/* What a program does that waits for work: a few blocks now and then. */
static void little_work(uint64_t *chance)
{
	void *block[50];

	for (size_t i = 0; i < 50; i++)
		block[i] = take(16 + chance_below(chance, 2000));
	for (size_t i = 0; i < 50; i++)
		free(block[i]);
}

static void run(size_t threads)
{
	static struct work work[MAX_THREADS];
	static pthread_barrier_t at_peak;

	pthread_barrier_init(&at_peak, NULL, threads ? threads : 1);
	for (size_t i = 0; i < threads || !i; i++) {
		work[i].chance = i;
		work[i].bytes = PEAK / (threads ? threads : 1);
		work[i].at_peak = &at_peak;
		if (threads &&
		    pthread_create(&work[i].thread, NULL, climb, &work[i])) {
			fputs("peak: cannot start a thread\n", stderr);
			exit(1);
		}
	}
	if (!threads)
		climb(&work[0]);
	for (size_t i = 0; i < threads; i++)
		pthread_join(work[i].thread, NULL);
}

int main(int argc, char **argv)
{
	size_t percent = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	size_t seconds = argc > 2 ? strtoul(argv[2], NULL, 10) : 60;
	size_t threads = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	struct timespec pause = {0, 20000000};
	uint64_t chance = 1;
	size_t now = 0, after;

	if (threads > MAX_THREADS)
		return 2;
	run(threads);
	after = resident();
	for (size_t turn = 0; turn < seconds * 50; turn++) {
		now = resident();
		if (now * 100 < peak * percent) {
			printf("%zu kB at the peak, %zu kB after it, %zu kB "
			       "in turn %zu\n",
			       peak, after, now, turn);
			return 0;
		}
		little_work(&chance);
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "%zu kB at the peak, %zu kB after it, still %zu kB\n",
		peak, after, now);
	return 1;
}
