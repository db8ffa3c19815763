/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocates under tags by THREADS threads for at least SECONDS: storm THREADS
 * SECONDS [SIGNALS]. With a third argument SIGUSR1 comes to the process all the
 * while, at least so often.
 */
#include "konfiscator.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int stop; /* atomic */

static void *allocate(void *unused)
{
	void *p[64];
	int rounds = 0;

	(void)unused;
	do {
		KONF_TAG_SCOPE("work");

		for (size_t i = 0; i < 64; i++) {
			konf_tag_push(i % 2 ? "odd \"one\"" : "even");
			p[i] = malloc(i * i * i + 1);
			konf_tag_pop();
		}
		for (size_t i = 0; i < 64; i++)
			free(p[i]);
	} while (++rounds < 100 || !__atomic_load_n(&stop, __ATOMIC_RELAXED));
	return NULL;
}

static long seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long end = argc > 2 ? seconds() + strtol(argv[2], NULL, 10) : 0;
	long signals = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	struct timespec pause = {0, 1000000};
	pthread_t thread[64];
	sigset_t signal;

	if (nr < 1 || nr > 64)
		return 2;
	for (long i = 0; i < nr; i++) {
		if (pthread_create(&thread[i], NULL, allocate, NULL))
			return 1;
	}
	/* The signals are for those that allocate, in the midst of it. */
	sigemptyset(&signal);
	sigaddset(&signal, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signal, NULL);
	while (seconds() < end || signals > 0) {
		if (argc > 3)
			kill(getpid(), SIGUSR1);
		signals--;
		nanosleep(&pause, NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
