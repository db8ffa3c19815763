/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A control loop of 1 kHz that must not allocate, and does: the first printf of
 * the program allocates a buffer. The loop of prepared work is guarded; what is
 * before it may allocate.
 *
 *	konfiscator run --keep=1 -- examples/realtime
 *	konfiscator realtime -n realtime -a
 *
 * With KONFISCATOR_REALTIME_ABORT=1 the first such call ends the program.
 */
#define _GNU_SOURCE
#include <konfiscator.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200
#define PERIOD_NS 1000000L

static double state[16];

static void step(int round)
{
	for (int i = 0; i < 16; i++)
		state[i] += (double)(i - state[i]) / 16;
	if (round == ROUNDS / 2)
		printf("half of the rounds: %.3f\n", state[15]);
}

static void *control(void *arg)
{
	struct timespec next;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &next);
	konf_realtime_enter();
	for (int round = 0; round < ROUNDS; round++) {
		step(round);
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	konf_realtime_leave();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, control, NULL))
		return EXIT_FAILURE;
	pthread_setname_np(thread, "control");
	pthread_join(thread, NULL);
	return EXIT_SUCCESS;
}
