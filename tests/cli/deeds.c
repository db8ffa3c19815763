// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Does one of each thing that the black box tells of, then ends as it is told
 * to:
 *
 *	deeds end|kill|fault|wait|damage
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR 3000

static void *volatile p;

/* More than its region of 2 MiB has, and all of it given back. */
static void fill(void)
{
	static void *block[NR];

	for (int i = 0; i < NR; i++) {
		block[i] = malloc(2000);
		if (!block[i])
			exit(1);
		memset(block[i], 1, 2000);
	}
	for (int i = 0; i < NR; i++)
		free(block[i]);
	malloc_trim(5000);
}

static void *work(void *unused)
{
	pthread_setname_np(pthread_self(), "worker");
	p = malloc(50000);
	free(p);
	p = malloc(500000);
	free(p);
	return unused;
}

static void misuse(void)
{
	static char none[64];
	char *volatile block = none;

	p = malloc((size_t)1 << 45);
	free(block + 16);
	block = malloc(64);
	free(block);
	free(block);
}

static void fork_once(void)
{
	pid_t pid = fork();

	if (!pid) {
		p = malloc(60000);
		free(p);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "end";
	pthread_t thread;

	fill();
	if (pthread_create(&thread, NULL, work, NULL) ||
	    pthread_join(thread, NULL))
		return 1;
	fork_once();
	misuse();
	if (!strcmp(end, "damage")) {
		p = malloc(40);
		((volatile char *)p)[48] ^= 1;
		free(p);
	}
	if (!strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(end, "fault"))
		*(volatile char *)NULL = 1;
	while (!strcmp(end, "wait")) {
		p = malloc(70000);
		free(p);
		usleep(10000);
	}
	return 0;
}
