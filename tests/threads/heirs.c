/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Children in which another thread's first call meets calls of the thread that
 * forked, that need nothing new. They end by a signal, so that their files
 * stay.
 *
 *	heirs CHILDREN PAIRS
 *
 * Prints how many pairs of malloc and free were made in these, of at most so
 * many in each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_BLOCKS 200
#define PAUSE 300 /* turns: to make a file takes longer than calls do */

static void *volatile block[NR_BLOCKS];
static void *volatile other;
static volatile int begun;
static uint64_t *nr_pairs; /* of all processes */

static void *take_one(void *arg)
{
	begun = 1;
	other = malloc(5000);
	return arg;
}

static void start_thread(pthread_t *thread)
{
	begun = 0;
	other = NULL;
	if (pthread_create(thread, NULL, take_one, NULL))
		_exit(2);
}

static void take_some(uint64_t most)
{
	pthread_t thread;

	start_thread(&thread);
	while (!begun)
		;
	for (uint64_t i = 0; i < most && !(i && other); i++) {
		free(block[i % NR_BLOCKS]);
		block[i % NR_BLOCKS] = malloc(24);
		++*nr_pairs;
		for (volatile int turn = 0; turn < PAUSE; turn++)
			;
	}
	pthread_join(thread, NULL);
	raise(SIGKILL);
}

/* Children find a stack of a thread that ended, and blocks that are free. */
static void prepare(void)
{
	pthread_t thread;

	start_thread(&thread);
	pthread_join(thread, NULL);
	free(other);
	for (int i = 0; i < NR_BLOCKS; i++)
		block[i] = malloc(24);
	nr_pairs = mmap(NULL, sizeof(*nr_pairs), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_pairs == MAP_FAILED)
		_exit(2);
}

int main(int argc, char **argv)
{
	long nr = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	int status;

	if (nr <= 0)
		return 2;
	prepare();
	while (nr--) {
		pid_t pid = fork();

		if (!pid)
			take_some(strtoul(argv[2], NULL, 10));
		if (pid < 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			return 1;
	}
	printf("%llu\n", (unsigned long long)*nr_pairs);
	fflush(stdout);
	raise(SIGKILL);
	return 1;
}
