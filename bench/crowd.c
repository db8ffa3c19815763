// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * crowd NR NAMES [MS]: so many processes at once, each with a stats file, for
 * whoever measures what reads these. They go by NAMES different names.
 *
 * Prints "ready" when all are there. The oldest is killed, and another begins
 * in its place, for each byte that is read, which is answered by another
 * "ready", and with MS every so many milliseconds. Ends when its standard input
 * does, and all of them with it.
 *
 * Each of them makes 101 calls of malloc in all, and 51 of free.
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 100000
#define NR_BLOCKS 100
#define LARGE 100000 /* bytes; such a block leaves the fast path */

static pid_t process[MAX_PROCESSES];
static int ready[2];

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static void __attribute__((noreturn)) live(unsigned int name)
{
	char comm[24];
	void *volatile large;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(comm, sizeof(comm), "crowd-%u", name);
	prctl(PR_SET_NAME, comm);
	large = malloc(LARGE);
	free(large);
	for (i = 0; i < NR_BLOCKS; i++) {
		void *volatile block = malloc(16 + i * 16);

		if (i % 2)
			free(block);
	}
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Begin one, and wait until it has allocated. */
static void begin(unsigned int i, unsigned int names)
{
	char byte;

	process[i] = fork();
	if (process[i] < 0)
		fail("fork");
	if (!process[i])
		live(i % names);
	if (read(ready[0], &byte, 1) != 1)
		fail("read");
}

static void replace(unsigned int i, unsigned int names)
{
	kill(process[i], SIGKILL);
	waitpid(process[i], NULL, 0);
	begin(i, names);
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* Whether a byte was read; false at the end. */
static bool told(void)
{
	char byte;

	return read(STDIN_FILENO, &byte, 1) == 1;
}

static void come_and_go(unsigned int nr, unsigned int names, int ms)
{
	struct pollfd orders = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned int i = 0;

	for (;;) {
		int found = poll(&orders, 1, ms);

		if (found && !told())
			return;
		replace(i, names);
		i = (i + 1) % nr;
		if (found)
			say_ready();
	}
}

/* A number from 1 on; else 0. */
static unsigned int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *end || n < 1 || n > INT_MAX ? 0 : (unsigned int)n;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 2 ? number(argv[1]) : 0;
	unsigned int names = argc > 2 ? number(argv[2]) : 0;
	int ms = argc > 3 ? (int)number(argv[3]) : -1;
	unsigned int i;

	if (!nr || nr > MAX_PROCESSES || !names || !ms || argc > 4) {
		fprintf(stderr, "usage: crowd NR NAMES [MS]\n");
		return 2;
	}
	if (pipe(ready))
		fail("pipe");
	for (i = 0; i < nr; i++)
		begin(i, names);
	say_ready();
	come_and_go(nr, names, ms);
	for (i = 0; i < nr; i++)
		kill(process[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
