/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * paced SECONDS THREADS END: allocates as fast as it can in so many threads,
 * for so long, from three sites, of which the last keeps its blocks. Then
 * prints the bytes of each, and ends by END: kill, abort, exit, or fork (a
 * child does all of this and is killed).
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 8
#define LARGE 20000
#define SMALL 1500
#define ROUND 64	       /* blocks between two looks at the clock */
#define KEPT_BYTES (256 << 20) /* at the most, of all threads */

struct work {
	double seconds;
	int threads;
	uint64_t rounds;
	uint64_t leaked;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void large(void)
{
	volatile char *p = malloc(LARGE);

	p[0] = 1;
	free((void *)p);
}

__attribute__((noinline)) static void small(void)
{
	volatile char *p = malloc(SMALL);

	p[0] = 1;
	free((void *)p);
}

__attribute__((noinline)) static void leak(void)
{
	static void *last[MOST_THREADS];
	volatile char *p = malloc(SMALL);

	p[0] = 1;
	last[p[0] % MOST_THREADS] = (void *)p;
	__asm__ volatile("" ::"r"(last) : "memory");
}

static void *work(void *arg)
{
	struct work *w = arg;
	double end = now() + w->seconds;

	do {
		for (int i = 0; i < ROUND; i++) {
			large();
			small();
		}
		w->rounds++;
		if (w->leaked * SMALL < KEPT_BYTES / (uint64_t)w->threads) {
			for (int i = 0; i < ROUND; i++)
				leak();
			w->leaked += ROUND;
		}
	} while (now() < end);
	return NULL;
}

static void run(double seconds, int threads)
{
	struct work all[MOST_THREADS];
	pthread_t thread[MOST_THREADS];
	uint64_t rounds = 0, leaked = 0;

	for (int i = 0; i < threads; i++) {
		all[i] = (struct work){.seconds = seconds, .threads = threads};
		if (pthread_create(&thread[i], NULL, work, &all[i]))
			exit(1);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		rounds += all[i].rounds;
		leaked += all[i].leaked;
	}
	printf("large %llu\nsmall %llu\nleak %llu\n",
	       (unsigned long long)(rounds * ROUND * LARGE),
	       (unsigned long long)(rounds * ROUND * SMALL),
	       (unsigned long long)(leaked * SMALL));
	fflush(stdout);
}

static void end_by(const char *how)
{
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
}

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};
	double seconds = argc == 4 ? strtod(argv[1], NULL) : 0;
	long threads = argc == 4 ? strtol(argv[2], NULL, 10) : 0;

	setrlimit(RLIMIT_CORE, &none);
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	if (!strcmp(argv[3], "fork")) {
		if (fork()) {
			wait(NULL);
			return 0;
		}
		run(seconds, (int)threads);
		raise(SIGKILL);
	}
	run(seconds, (int)threads);
	end_by(argv[3]);
	return 0;
}
