// SPDX-License-Identifier: LGPL-2.1-or-later
// Misuses blocks: faulty KIND SIZE TIMES [DISTANCE [END]]. Prints how often it
// did so at the end, which it reaches where no misuse ends it. END: kill: by
// SIGKILL; wait: when stdin ends; fork: after a child that used blocks after
// their free.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

static volatile char sink;

static __attribute__((noinline)) char *made(size_t size)
{
	char *p = malloc(size);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static __attribute__((noinline)) void unmade(char *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	free(p);
	__asm__ volatile("");
}

static __attribute__((noinline)) void writes(volatile char *p)
{
	*p = 'x';
}

static __attribute__((noinline)) void reads(volatile char *p)
{
	sink = *p;
}

static void misuse(const char *kind, size_t size, size_t distance)
{
	char *p = made(size);

	if (!strcmp(kind, "overflow-read")) {
		reads(p + size - 1 + distance);
	} else if (!strcmp(kind, "overflow-write")) {
		writes(p + size - 1 + distance);
	} else if (!strcmp(kind, "underflow-read")) {
		reads(p - distance);
	} else if (!strcmp(kind, "after-free-read")) {
		unmade(p);
		reads(p);
		return;
	} else if (!strcmp(kind, "after-free-write")) {
		char was;

		unmade(p);
		was = *(volatile char *)(p + size / 2);
		writes(p + size / 2);
		*(volatile char *)(p + size / 2) = was;
		return;
	}
	unmade(p);
}

static void finish(const char *end, size_t size, unsigned long times)
{
	pid_t child;

	if (!strcmp(end, "kill"))
		raise(SIGKILL);
	if (!strcmp(end, "wait"))
		while (getchar() != EOF)
			;
	if (strcmp(end, "fork") != 0)
		return;
	child = fork();
	if (!child) {
		for (unsigned long i = 0; i < times; i++)
			misuse("after-free-read", size, 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	size_t size = strtoul(argv[2], NULL, 0);
	unsigned long times = strtoul(argv[3], NULL, 0);
	size_t distance = argc > 4 ? strtoul(argv[4], NULL, 0) : 1;

	for (unsigned long i = 0; i < times; i++)
		misuse(argv[1], size, distance);
	printf("%lu done\n", times);
	fflush(stdout);
	if (argc > 5)
		finish(argv[5], size, times);
	return 0;
}
