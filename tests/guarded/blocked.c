// SPDX-License-Identifier: LGPL-2.1-or-later
// Uses blocks after their free in a thread that blocks all signals, in a signal
// handler that blocks all others, and in a child of fork().
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char sink;

static void misuse(void)
{
	for (int i = 0; i < 2000; i++) {
		char *volatile p = malloc(64);

		free(p);
		sink = *p;
	}
}

static void *blocks(void *arg)
{
	misuse();
	return arg;
}

static void handler(int sig)
{
	misuse();
}

int main(void)
{
	struct sigaction act = {.sa_handler = handler};
	sigset_t all, old, now;
	pthread_t thread;
	pid_t pid;
	int status;

	misuse();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_create(&thread, NULL, blocks, NULL);
	pthread_sigmask(SIG_SETMASK, &old, &now);
	pthread_join(thread, NULL);
	printf("blocked: USR1 %d TERM %d\n", sigismember(&now, SIGUSR1),
	       sigismember(&now, SIGTERM));
	sigfillset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	printf("in a handler\n");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		misuse();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("in a child: %d\n", status);
	return 0;
}
